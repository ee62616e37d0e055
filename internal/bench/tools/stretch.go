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

// stretch adds up the time and the processor time of a process between begin and end.
type stretch struct {
	pid          int
	on           time.Time
	cpu0         float64
	seconds, cpu float64
}

func (s *stretch) begin() { s.on, s.cpu0 = time.Now(), processCPU(s.pid) }

func (s *stretch) end() {
	s.seconds += time.Since(s.on).Seconds()
	s.cpu += processCPU(s.pid) - s.cpu0
}

// processCPU gives the processor time of all threads of a process in seconds, 0 if it is gone.
func processCPU(pid int) float64 {
	ns, _ := procmem.ProcessCPU(pid)
	return float64(ns) / 1e9
}

// peakMB gives the largest resident size that a process had (VmHWM, proc_pid_status(5)) in 10^6 bytes, 0 if
// it is gone.
func peakMB(pid int) float64 {
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
