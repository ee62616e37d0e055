// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"strconv"
	"strings"

	"prywalk/internal/procmem"
)

// othersCPU sums what other programs and the hypervisor took in windows without a tool.
type othersCPU struct {
	pid         int // 0: its share is unknown
	busy0       float64
	target0     uint64
	busy, spent float64 // CPU time of all processors, and of the target, s
	seconds     float64
}

func (o *othersCPU) begin() {
	o.busy0 = busySeconds()
	o.target0, _ = procmem.ProcessCPU(o.pid)
}

func (o *othersCPU) end(seconds float64) {
	target, err := procmem.ProcessCPU(o.pid)
	busy := busySeconds()
	if err != nil || busy < o.busy0 {
		return
	}
	o.busy += busy - o.busy0
	o.spent += float64(target-o.target0) / 1e9
	o.seconds += seconds
}

// share is in processors; nil: unknown.
func (o *othersCPU) share() *float64 {
	if o.seconds == 0 || o.pid == 0 {
		return nil
	}
	x := max(0, o.busy-o.spent) / o.seconds
	return &x
}

// stealTime sums the hypervisor's time in windows with a tool: a sampled guest runs on more processors and loses
// more.
type stealTime struct {
	before, spent, seconds float64
}

func (s *stealTime) begin() { s.before = stealSeconds() }

func (s *stealTime) end(seconds float64) {
	s.spent += max(0, stealSeconds()-s.before)
	s.seconds += seconds
}

// share is in processors; nil: not measured.
func (s *stealTime) share() *float64 {
	if s.seconds == 0 {
		return nil
	}
	x := s.spent / s.seconds
	return &x
}

// busySeconds leaves out idle and iowait; guest time is in user and nice.
func busySeconds() float64 {
	sum := 0.0
	for i, x := range processorSeconds() {
		if i != 3 && i != 4 && i < 8 {
			sum += x
		}
	}
	return sum
}

func stealSeconds() float64 {
	if t := processorSeconds(); len(t) > 7 {
		return t[7]
	}
	return 0
}

// processorSeconds is line "cpu" of /proc/stat (proc_stat(5)), s.
func processorSeconds() []float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var out []float64
	for i, field := range strings.Fields(line) {
		if i > 0 {
			n, _ := strconv.ParseFloat(field, 64)
			out = append(out, n/100)
		}
	}
	return out
}
