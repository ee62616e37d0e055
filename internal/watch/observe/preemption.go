// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"cmp"
	"slices"

	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/pace"
	"prywalk/ptrace"
)

// PreemptedFinder finds the thread that the tracer has preempted (package pace).
type PreemptedFinder struct {
	ctl        *ptrace.Controller
	lastWake   pace.Wake
	detector   pace.PreemptionDetector
	candidates []candidate
}

// Preemption returns the observer's finder.
func (o *Observer) Preemption() *PreemptedFinder { return &o.preemption }

// Woken sets the time of the tracer's wake-up, CLOCK_MONOTONIC ns.
func (p *PreemptedFinder) Woken(at int64) {
	p.lastWake = pace.Wake{At: at, ByTimer: p.ctl.WokenByTimer(), Late: p.ctl.WokenLate()}
	p.detector.NoteWake(at)
}

// BeginTick begins the time of PreemptedOn.
func (p *PreemptedFinder) BeginTick() { p.detector.ForgetPreempted() }

// ForgetWake notes that the tracer has worked since its sleep.
func (p *PreemptedFinder) ForgetWake() { p.ctl.ClearWokenByTimer() }

// Nap sleeps until a time of CLOCK_MONOTONIC, ns.
func (p *PreemptedFinder) Nap(until int64) { p.ctl.NanosleepUntil(until) }

// WokenByTimer reports whether the tracer's timer woke it. Otherwise a preempted thread may have run on (package pace).
func (p *PreemptedFinder) WokenByTimer() bool { return p.wake().ByTimer }

func (p *PreemptedFinder) wake() pace.Wake {
	if at := p.ctl.WokenAt(); at > p.lastWake.At {
		return pace.Wake{At: at, ByTimer: p.ctl.WokenByTimer(), Late: p.ctl.WokenLate()}
	}
	return p.lastWake
}

// PreemptedOn returns the CPU on which the tracer last preempted a thread in this tick, or false.
func (p *PreemptedFinder) PreemptedOn() (cpu int, ok bool) { return p.detector.PreemptedOn() }

func (p *PreemptedFinder) checkAwaitsTracer(t *Thread) bool {
	return p.detector.Decide(&t.skid, t.files, t.sleep.base.lastRun(&t.clocks.last), p.wake())
}

const maxCandidates = 16

type candidate struct {
	thread  *Thread
	runs    uint64
	cpuTime int64 // since its last observation, ns
}

// AddCandidate adds a thread if it makes many system calls and has run. If there are too many, it drops all and returns
// false.
func (p *PreemptedFinder) AddCandidate(t *Thread) bool {
	if !t.skid.HasManyCalls() || t.Pending() || t.IsKernelSampled() {
		return true
	}
	s, err := t.files.SchedStat()
	if err != nil || s.Runs == t.clocks.last.Runs {
		return true
	}
	if len(p.candidates) == maxCandidates {
		p.candidates = p.candidates[:0]
		return false
	}
	p.candidates = append(p.candidates, candidate{t, s.Runs, int64(s.CPU - t.clocks.last.CPU)})
	return true
}

// FindPreempted returns the candidate that the tracer has preempted, or nil.
func (p *PreemptedFinder) FindPreempted() *Thread {
	defer func() { p.candidates = p.candidates[:0] }()
	slices.SortFunc(p.candidates, func(a, b candidate) int { return cmp.Compare(b.cpuTime, a.cpuTime) })
	for _, c := range p.candidates {
		if p.detector.CheckBeforeSample(&c.thread.skid, c.thread.files, c.runs, p.wake().At) {
			return c.thread
		}
	}
	return nil
}

// LastCPU returns a thread's last CPU, or −1, and whether the thread outranks the tracer there.
func (p *PreemptedFinder) LastCPU(t *Thread) (cpu int, outranks bool) {
	if cpu, ok := t.skid.Preempted(); ok {
		return cpu, false
	}
	var st procmem.Stat
	if t.files.Stat(&st) != nil {
		return -1, false
	}
	return st.Processor, pace.OutranksCaller(&st)
}
