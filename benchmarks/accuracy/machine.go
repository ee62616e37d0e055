package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine says what the figures were made on and with.
type machine struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"`
	Kernel     string `json:"kernel"`
	Arch       string `json:"arch"`
	Go         string `json:"go"`
	Perf       string `json:"perf"`
	Prywalk    string `json:"prywalk"`
}

func thisMachine() machine {
	m := machine{Processors: runtime.NumCPU(), Arch: runtime.GOARCH, Go: runtime.Version()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-") // what follows names a build
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + release
	}
	m.CPU = cpuModel()
	m.Perf = firstLine("perf", "--version")
	m.Prywalk = firstLine("git", "describe", "--always", "--dirty")
	return m
}

// cpuModel reads the first "model name" of /proc/cpuinfo, which arm64 does not have.
func cpuModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// firstLine gives the first line that a command prints, "" if it fails.
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}
