// SPDX-License-Identifier: Apache-2.0

// Package machine describes the machine that a figure was measured with.
package machine

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUModel returns the first "model name" of /proc/cpuinfo, else, as on arm64, the architecture's name.
func CPUModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // or it is as if it were empty
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Kernel returns the kernel's version, as in 6.1.0, without a distributor's suffix, or "".
func Kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	version, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	return version
}

// Load returns the load average of the last minute, 0 if unknown.
func Load() float64 {
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return 0
	}
	return float64(si.Loads[0]) / 65536 // SI_LOAD_SHIFT, include/uapi/linux/sysinfo.h
}
