// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/host/procmem"
)

// Stretch sums a process's time and CPU time, s, between Begin and End.
type Stretch struct {
	PID          int
	Seconds, CPU float64
	on           time.Time
	cpu0         float64
}

// Begin begins a stretch.
func (s *Stretch) Begin() { s.on, s.cpu0 = time.Now(), ProcessCPU(s.PID) }

// End ends it.
func (s *Stretch) End() {
	s.Seconds += time.Since(s.on).Seconds()
	s.CPU += ProcessCPU(s.PID) - s.cpu0
}

// ProcessCPU returns a process's CPU time, s; 0: it is gone.
func ProcessCPU(pid int) float64 {
	ns, _ := procmem.ProcessCPU(pid)
	return float64(ns) / 1e9
}

// PeakMB returns VmHWM (proc_pid_status(5)), 10^6 bytes; 0: it is gone.
func PeakMB(pid int) float64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}
