package bench

import (
	"bufio"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// machine describes this one.
func machine(version string) Machine {
	m := Machine{Processors: runtime.NumCPU(), Prywalk: version, Model: cpuModel()}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) == nil {
		m.Load = float64(si.Loads[0]) / 65536 // SI_LOAD_SHIFT, include/uapi/linux/sysinfo.h
	}
	return m
}

// cpuModel gives the processor's name from /proc/cpuinfo, "" where it has none.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
