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
	add("cpu", cpu())
	add("cpus", strconv.Itoa(runtime.NumCPU()))
	kernel, _, _ := strings.Cut(firstLine("uname", "-r"), "-") // without what a builder calls his own
	add("kernel", kernel)
	add("mpi", firstLine("mpirun", "--version"))
	add("go", runtime.Version())
	add("commit", commit())
	return all
}

// anew and the name of a part is a setting that says when, with which version and on what that part was measured later than the others.
const anew = "anew: "

// cpu is what the processor calls itself.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit names the version of the programs, marked where files were changed since but for those that an evaluation writes itself.
func commit() string {
	name := firstLine("git", "describe", "--always")
	if firstLine("git", "status", "--porcelain", "--untracked-files=no", "--", ":(top,exclude)data", ":(top,exclude)docs") != "" {
		name += "-dirty"
	}
	return name
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
