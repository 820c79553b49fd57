package main

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// machine says what the data were measured on. What cannot be found out is left out.
func machine() []setting {
	var all []setting
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			all = append(all, setting{name, value})
		}
	}
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			add("cpu", value)
			break
		}
	}
	add("cpus", strconv.Itoa(runtime.NumCPU()))
	kernel, _, _ := strings.Cut(firstLine("uname", "-r"), "-") // without what a builder calls his own
	add("kernel", kernel)
	add("mpi", firstLine("mpirun", "--version"))
	add("go", runtime.Version())
	add("commit", firstLine("git", "describe", "--always", "--dirty"))
	return all
}

// firstLine is the first line that a command prints; none if it cannot be run.
func firstLine(command string, args ...string) string {
	out, err := exec.Command(command, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
