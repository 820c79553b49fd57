package main

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// machine says what the data are measured on, with the programs of a folder. What cannot be found out is left out.
func machine(programs string) []setting {
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
	add("commit", commit(programs))
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

// commit names the version that the programs were built from, marked where files had been changed since: as sor says; where it does not, the one that is checked out, but for the
// files that an evaluation writes itself.
func commit(programs string) string {
	const revision, modified = "vcs.revision", "vcs.modified"
	is := map[string]string{}
	if info, err := buildinfo.ReadFile(filepath.Join(programs, "sor")); err == nil {
		for _, s := range info.Settings {
			is[s.Key] = s.Value
		}
	}
	name, changed := is[revision], is[modified] == "true"
	if name == "" {
		name = firstLine("git", "describe", "--always")
		changed = firstLine("git", "status", "--porcelain", "--untracked-files=no", "--", ":(top,exclude)data", ":(top,exclude)docs") != ""
	}
	name = name[:min(7, len(name))]
	if changed {
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
