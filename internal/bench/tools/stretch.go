// SPDX-License-Identifier: Apache-2.0

package tools

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/procmem"
)

// Stretch adds up the time and the processor time of a process between Begin and End.
type Stretch struct {
	PID          int
	Seconds, CPU float64
	on           time.Time
	cpu0         float64
}

// Begin begins to count.
func (s *Stretch) Begin() { s.on, s.cpu0 = time.Now(), ProcessCPU(s.PID) }

// End ends what Begin began.
func (s *Stretch) End() {
	s.Seconds += time.Since(s.on).Seconds()
	s.CPU += ProcessCPU(s.PID) - s.cpu0
}

// ProcessCPU gives the processor time of all threads of a process in seconds, 0 if it is gone.
func ProcessCPU(pid int) float64 {
	ns, _ := procmem.ProcessCPU(pid)
	return float64(ns) / 1e9
}

// PeakMB gives the largest resident size that a process had (VmHWM, proc_pid_status(5)) in 10^6 bytes, 0 if
// it is gone.
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
