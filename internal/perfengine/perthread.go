// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"fmt"
	"strings"

	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// perThread samples threads one by one, in user space only, once a stop has found them running. A thread that spends
// more than a twentieth of its CPU time in the kernel, by both missing samples and stime (/proc/PID/task/TID/stat), or
// has no sample at all, is stopped again.
type perThread struct {
	shared               *engine.SharedState
	reader               *perfevents.Reader
	ranInKernel, refused int64 // threads stopped again
}

const (
	comparedAfter   = 200 // periods of CPU time between comparisons
	missingShare    = 20  // at most 1/missingShare of the samples may be missing
	maxInconclusive = 10  // comparisons without a result that restart the counts
)

// Counts are since one moment.
type threadEvents struct {
	open         int    // descriptors; 0: not sampled
	cpuFrom      int64  // ns
	kernelFrom   uint64 // clock ticks
	received     int64  // samples since that moment
	inconclusive int64  // comparisons that found no reason for missing samples
	rateChanged  bool   // since the counts began
	stopped      bool   // no longer sampled
}

func (t *threadEvents) restart(cpu int64, kernel uint64) {
	t.cpuFrom = cpu
	t.kernelFrom = kernel
	t.received = 0
	t.inconclusive = 0
	t.rateChanged = false
}

func (t *threadEvents) lacksSamples(expected int64) bool {
	return (expected-t.received)*missingShare > expected
}

func (t *threadEvents) inKernel(cpu int64, kernel uint64) bool {
	return (int64(kernel-t.kernelFrom)-1)*procmem.ClockTick*missingShare > cpu-t.cpuFrom
}

func (p *perThread) begin(*thread) {} // a stop must find it running first

func (p *perThread) stopFoundRunning(th *thread, s *observe.RawSample) {
	events := &th.events
	if th.proc.mode != modeSamples || p.shared.Ending || events.open > 0 || events.stopped || th.NoUser {
		return
	}
	n := p.reader.Events()
	if !p.shared.Files.Take(n) {
		return
	}
	if err := p.reader.OpenThread(th.Observed.TID); err != nil {
		p.shared.Files.Give(n)
		p.switchToStops(th, &p.refused)
		return
	}
	var st procmem.Stat
	_ = th.Observed.Files().Stat(&st) // on error no time in the kernel
	*events = threadEvents{open: n, cpuFrom: int64(s.Sched.CPU), kernelFrom: st.STime}
	th.ExemptFromStops(p.reader.Stack())
}

func (p *perThread) switchToStops(th *thread, count *int64) {
	p.end(th)
	th.events.stopped = true
	*count++
}

func (p *perThread) end(th *thread) {
	events := &th.events
	if events.open == 0 {
		return
	}
	p.reader.CloseThread(th.Observed.TID)
	p.shared.Files.Give(events.open)
	*events = threadEvents{}
	th.ExemptFromStops(0)
}

func (p *perThread) stopIfSamplesLack(th *thread) {
	events := &th.events
	if events.open == 0 {
		return
	}
	cpu := th.lastReading.CPU
	expected := (cpu - events.cpuFrom) / p.reader.Period()
	if expected < comparedAfter*(events.inconclusive+1) && !events.rateChanged {
		return
	}
	var st procmem.Stat
	if th.Observed.Files().Stat(&st) != nil {
		return
	}
	if events.rateChanged {
		events.restart(cpu, st.STime)
		return
	}
	lacks := events.lacksSamples(expected)
	switch {
	case lacks && events.inKernel(cpu, st.STime):
		p.switchToStops(th, &p.ranInKernel)
		return
	case lacks && events.received == 0 && events.inconclusive > 0:
		p.switchToStops(th, &p.refused)
		return
	}
	events.inconclusive++
	if !lacks || events.inconclusive == maxInconclusive {
		events.restart(cpu, st.STime)
	}
}

func (p *perThread) fromStart() bool { return false }

func (p *perThread) note() string {
	parts := []string{"user space only"}
	if p.ranInKernel > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that ran in the kernel as well", p.ranInKernel))
	}
	if p.refused > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d of which the kernel gives no samples", p.refused))
	}
	return strings.Join(parts, "; ")
}
