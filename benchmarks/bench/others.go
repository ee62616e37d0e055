// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"strconv"
	"strings"
	"time"

	"prywalk/internal/host/procmem"
)

type cpuMeter struct {
	read           func() (seconds float64, ok bool) // since some moment; nil: the share is unknown
	began          time.Time
	before         float64
	spent, seconds float64
}

// othersMeter includes the hypervisor.
func othersMeter(pid int) cpuMeter {
	return cpuMeter{read: func() (float64, bool) {
		target, err := procmem.ProcessCPU(pid)
		busy := busySeconds()
		return busy - float64(target)/1e9, err == nil && busy > 0
	}}
}

// stealMeter tells windows with sampling apart: a sampled guest runs on more processors, and loses more to the
// hypervisor.
func stealMeter() cpuMeter {
	return cpuMeter{read: func() (float64, bool) { return stealSeconds(), true }}
}

func (m *cpuMeter) begin() {
	if m.read != nil {
		m.began = time.Now()
		m.before, _ = m.read()
	}
}

func (m *cpuMeter) end() {
	if m.read == nil {
		return
	}
	if now, ok := m.read(); ok {
		m.spent += now - m.before
		m.seconds += time.Since(m.began).Seconds()
	}
}

// share is in processors; nil: unknown, or not measured.
func (m *cpuMeter) share() *float64 {
	if m.seconds == 0 {
		return nil
	}
	x := max(0, m.spent) / m.seconds
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
