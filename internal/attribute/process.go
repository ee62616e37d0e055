// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Process is the account of one process: what its threads used by their own clocks. The rest, which the process's
// clock counts for threads that have ended, belongs to no look.
type Process struct {
	// Since is when sampling it began, CLOCK_MONOTONIC in nanoseconds.
	Since int64
	// Selected: only some of its threads are wanted, and nothing of the others' time is booked.
	Selected bool
	// Sampled: the kernel samples all that runs, so each sample stands for a period whatever its thread did before.
	Sampled bool

	used      int64  // CPU time of its threads from the first look at each to the last, ns
	endedSeen int64  // what the clocks of those that have ended showed at the last looks at them, ns
	claims    claims // of threads that lived shortly, on what is unseen
	unproven  claims // the same, of looks of which it was never known whether they skid
	skidded   skidded
	kids      claims // of samples of its children that nobody met, on what they have used
	joined    int64  // how many looks of unproven are in claims by now
	givenBack int64  // what their clocks had carried when they ended, ns
	paid      int64  // what is booked by now of what is unseen, ns
	passedOn  int64  // what is unseen of children that were met, ns
	// kidsSkidded is what looks at these have a claim on that do not tell where, ns.
	kidsSkidded int64
	// kidsUsed is what children are known to have used at least that nobody met, or that ended soon: by program, ns.
	kidsUsed map[string]int64
	// counted: that is all that they have used. countedNS is what was counted in all, ns. kidsEnds is how many have ended,
	// by program.
	counted   bool
	countedNS int64
	kidsEnds  map[string]int64
}

// End is what there is to know of the end of a thread's account. Readings are zero where there is none.
type End struct {
	// Alive: the thread goes on, it is the recording that ends.
	Alive bool
	// Before are its clocks before its first look, if it lived when sampling began.
	Before sample.Reading
	// Rest are its clocks at the end, if its last look is not of then.
	Rest sample.Reading
	// Patience is how old the last look may be so that what the thread did since then belongs to it, in nanoseconds.
	Patience int64
}

// EndThread takes note of what a thread that has ended used up to its last look: the process's clock counts it on. If
// it goes on, what it has done since then is booked. [Process.FinishThread] is to follow.
func (p *Process) EndThread(t *Thread, e *End, emit func(Span)) {
	switch {
	case !e.Alive && t.begun:
		p.endedSeen += t.clock.last.CPU
		if !p.Selected {
			p.ended(t)
		}
	case !e.Alive:
		p.endedSeen += e.Before.CPU
	case e.Rest.Wall == 0:
	case t.begun:
		if e.Rest.CPU > t.clock.last.CPU {
			t.clock.Ends(e.Rest, e.Patience, emit)
		}
	case e.Rest.CPU > e.Before.CPU: // it could never be looked at
		t.begun = true
		if t.clock.Begin(e.Before); t.BornAt != 0 {
			t.clock.Begin(t.birth(e.Rest))
		}
		t.clock.Ends(e.Rest, 0, emit)
	}
}

// FinishThread books all that is left of a thread.
func (p *Process) FinishThread(t *Thread, gaps Gaps, emit func(Span)) {
	t.Finish(gaps, emit)
	p.used += t.clock.last.CPU - t.clock.first.CPU
}

// Used gives the processor time that all threads have used, as far as looks have seen them, and what
// [Process.ExitedSoFar] has booked besides, in nanoseconds.
func (p *Process) Used() int64 { return p.used }

// Unseen gives the processor time of threads that ended and that belongs to no look, in nanoseconds. Threads that
// ended while the process was sampled had used so much in all their lives (ended). What is booked by now is left out.
func (p *Process) Unseen(ended int64) int64 { return max(ended-p.endedSeen-p.paid, 0) }
