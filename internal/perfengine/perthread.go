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

// perThread samples threads one by one, in user space only ([perfevents.OpenPerThread]), once a stop has found them
// running.
//
// Time in the kernel has no samples. So a thread that spends more than a twentieth of its CPU time there is stopped
// again. Both missing samples and stime (/proc/PID/task/TID/stat) must show it, as samples may be lost by chance.
type perThread struct {
	shared *engine.SharedState
	reader *perfevents.Reader
	// inKernel and refused count threads that are stopped because they run in the kernel, or the kernel refuses
	// samples.
	inKernel, refused int64
}

const (
	// comparedAfter is the CPU time, in periods, after which the number of samples is compared with it.
	comparedAfter = 200
	// missingShare is the inverse of the part of samples that may be missing.
	missingShare = 20
	// maxInconclusive is the number of comparisons without a result that restarts the counts.
	maxInconclusive = 10
	// clockTick is the unit of stime, ns.
	clockTick = 10e6
)

// threadEvents are the events of a thread. from, kernel and received begin together.
type threadEvents struct {
	open         int    // number of descriptors, 0 if not sampled
	from         int64  // CPU time, ns
	kernel       uint64 // kernel time, clock ticks
	received     int64  // samples since
	inconclusive int64  // comparisons that found no reason for missing samples
	rateChanged  bool   // since the counts began
	stopped      bool   // no longer sampled
}

func (e *threadEvents) restart(cpu int64, kernel uint64) {
	e.from = cpu
	e.kernel = kernel
	e.received = 0
	e.inconclusive = 0
	e.rateChanged = false
}

func (e *threadEvents) lacksSamples(expected int64) bool {
	return (expected-e.received)*missingShare > expected
}

func (e *threadEvents) inKernel(cpu int64, kernel uint64) bool {
	return (int64(kernel-e.kernel)-1)*clockTick*missingShare > cpu-e.from
}

func (p *perThread) begin(*thread) {} // a stop must find it running first

func (p *perThread) foundRunning(th *thread, s *observe.RawSample) {
	e := &th.events
	if th.proc.mode != modeSamples || p.shared.Ending || e.open > 0 || e.stopped || th.NoUser {
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
	_ = th.Observed.Stat(&st) // on error no time in the kernel
	*e = threadEvents{open: n, from: int64(s.Sched.CPU), kernel: st.STime}
	th.ExemptFromStops(p.reader.Stack())
}

// switchToStops makes a thread be stopped from now on.
func (p *perThread) switchToStops(th *thread, count *int64) {
	p.end(th)
	th.events.stopped = true
	*count++
}

func (p *perThread) end(th *thread) {
	e := &th.events
	if e.open == 0 {
		return
	}
	p.reader.CloseThread(th.Observed.TID)
	p.shared.Files.Give(e.open)
	*e = threadEvents{}
	th.ExemptFromStops(0)
}

func (p *perThread) compare(th *thread) {
	e := &th.events
	if e.open == 0 {
		return
	}
	cpu := th.read.CPU
	expected := (cpu - e.from) / p.reader.Period()
	if expected < comparedAfter*(e.inconclusive+1) && !e.rateChanged {
		return
	}
	var st procmem.Stat
	if th.Observed.Stat(&st) != nil {
		return
	}
	if e.rateChanged {
		e.restart(cpu, st.STime)
		return
	}
	lacks := e.lacksSamples(expected)
	if lacks && e.inKernel(cpu, st.STime) {
		p.switchToStops(th, &p.inKernel)
		return
	}
	e.inconclusive++
	if !lacks || e.inconclusive == maxInconclusive {
		e.restart(cpu, st.STime)
	}
}

func (p *perThread) fromStart() bool { return false }

func (p *perThread) note() string {
	parts := []string{"user space only"}
	if p.inKernel > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that ran in the kernel as well", p.inKernel))
	}
	if p.refused > 0 {
		parts = append(parts, fmt.Sprintf("by ptrace: %d that may not be sampled", p.refused))
	}
	return strings.Join(parts, "; ")
}
