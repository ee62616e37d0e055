package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// machine says what the figures were made on and with.
type machine struct {
	CPU, Kernel, Prywalk string
	Processors           int
}

func thisMachine() machine {
	m := machine{Processors: runtime.NumCPU(), CPU: cpuModel()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + kernelVersion(unix.ByteSliceToString(u.Release[:]))
	}
	if out, err := exec.Command("git", "describe", "--always", "--dirty").Output(); err == nil {
		m.Prywalk = strings.TrimSpace(string(out))
	}
	return m
}

// kernelVersion leaves out what a distributor appends.
func kernelVersion(release string) string {
	version, _, _ := strings.Cut(release, "-")
	return version
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

// load is the load average of the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// head says when, where and with what a part was measured; how adds what is the part's own.
func (b *bench) head(began time.Time, loadBefore, how string) string {
	m := b.machine
	prywalk := m.Prywalk
	if prywalk != "" {
		prywalk = ", prywalk " + prywalk
	}
	return fmt.Sprintf("Measured on %s in %.0f s, %s, %d processors, %s%s, load average %s before and %s after. %s\n\n",
		began.UTC().Format(time.DateOnly), time.Since(began).Seconds(), m.CPU, m.Processors, m.Kernel, prywalk, loadBefore, load(), how)
}
