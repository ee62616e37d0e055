// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Process is the account of one process: the CPU time of its threads by their own clocks, and the rest of the
// process's clock.
type Process struct {
	Since    int64 // start of sampling, CLOCK_MONOTONIC ns
	Selected bool  // only some threads are sampled
	Sampled  bool  // by the kernel: each sample stands for one period

	used     int64 // CPU time of its threads, ns
	threads  threadPool
	children childPool
}

// End is the end of a thread's account.
type End struct {
	Alive  bool           // the recording ends before the thread
	Before sample.Reading // clocks before the first sample, if older than the recording
	Rest   sample.Reading // clocks at the end, if later than the last sample
	// Patience bounds the age of a last sample that takes the time since then, ns.
	Patience int64
}

// EndThread adds the CPU time of an ended thread up to its last sample. [Process.FinishThread] must follow.
func (p *Process) EndThread(t *Thread, e *End, emit func(Span)) {
	switch {
	case !e.Alive && t.begun:
		p.threads.sampled += t.clock.last.CPU
		if !p.Selected {
			p.addWeights(t)
		}
	case !e.Alive:
		p.threads.sampled += e.Before.CPU
	case e.Rest.Wall == 0:
	case t.begun:
		if e.Rest.CPU > t.clock.last.CPU {
			t.clock.EndWithoutSample(e.Rest, e.Patience, emit)
		}
	case e.Rest.CPU > e.Before.CPU:
		t.begun = true
		if t.clock.Begin(e.Before); t.CreatedAt != 0 {
			t.clock.Begin(t.clocksAtCreation(e.Rest))
		}
		t.clock.EndWithoutSample(e.Rest, 0, emit)
	}
}

// FinishThread attributes all that is left of a thread.
func (p *Process) FinishThread(t *Thread, gaps Gaps, emit func(Span)) {
	t.Finish(gaps, emit)
	p.used += t.clock.last.CPU - t.clock.first.CPU
}

// Used returns the CPU time of all threads up to their last samples, and that of [Process.ExitedSoFar], ns.
func (p *Process) Used() int64 { return p.used }

// Unseen returns the CPU time of ended threads that is not attributed, ns. ended is [ProcessEnd.Ended].
func (p *Process) Unseen(ended int64) int64 {
	return max(ended-p.threads.sampled-p.threads.distributed, 0)
}
