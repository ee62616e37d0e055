// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"

	"prywalk/internal/base/sample"
)

// kernelTime is CPU time of a thread whose user space alone the kernel samples: what it spent in the kernel, unseen. It
// is held until a stop in a system call takes it ([Sample.CallTime]). What none has taken for carryLimit goes to the
// system call of the last such stop, if those take all; if there was none, to that of the last sleep; else to
// [InKernel]. Samples of user space never take it. Times are in ns.
type kernelTime struct {
	announced int64 // not yet found in an interval
	held      int64
	found     bool  // some was held before
	since     int64 // of held, CLOCK_MONOTONIC
	call      Place // of the last stop in a system call
	stops     kernelStops
}

type kernelStops uint8

const (
	noStopInCall  kernelStops = iota
	callsTakeSome             // the rest is of page faults and interrupts
	callsTakeAll
)

// hold keeps the announced part of an interval's CPU time, and returns the rest.
func (k *kernelTime) hold(cpu, now int64) int64 {
	part := min(cpu, k.announced)
	if part > 0 && k.held == 0 {
		k.since = now
	}
	k.announced -= part
	k.held += part
	k.found = k.found || part > 0
	return cpu - part
}

// takeKernelTime gives held time to the system call in which a stop found the thread.
func (l *Ledger) takeKernelTime(place Place, now, most int64) {
	k := &l.kernel
	k.call, k.stops = place.asRunning(), callsTakeSome
	if most == math.MaxInt64 {
		k.stops = callsTakeAll
	}
	l.emitKernelTime(Span{Place: k.call}, now, most)
}

func (l *Ledger) settleKernelTime(now int64) { l.emitKernelTime(l.untakenIn(), now, math.MaxInt64) }

// untakenIn returns where the time goes that no stop has taken.
func (l *Ledger) untakenIn() Span {
	switch k := &l.kernel; {
	case k.stops == callsTakeAll:
		return Span{Place: k.call}
	case k.stops == noStopInCall && l.sleep.span.End != 0:
		return Span{Place: l.sleep.span.asRunning()}
	}
	return Span{Place: Place{State: sample.Running}, Leaf: InKernel}
}

func (l *Ledger) emitHeldSoFar(emit func(Span)) {
	if held := l.kernel.held; held > 0 {
		s := l.untakenIn()
		s.End, s.Wall, s.CPU = l.clocks.last.Wall, held, held
		emit(s)
	}
}

func (l *Ledger) settleOverdueKernelTime(now int64) {
	if l.kernel.held > 0 && now-l.kernel.since > carryLimit {
		l.settleKernelTime(now)
	}
}

func (l *Ledger) emitKernelTime(s Span, now, most int64) {
	cpu := min(l.kernel.held, most)
	if cpu <= 0 {
		return
	}
	l.kernel.held -= cpu
	l.kernel.since = now
	s.End, s.Wall, s.CPU = now, cpu, cpu
	l.Emit(s)
}
