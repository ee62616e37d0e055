// SPDX-License-Identifier: Apache-2.0

package backoff

const (
	// restlessCost is the whole cost of observing a sleeper that woke lately, ns. Such observations take at most one
	// part in restlessShare of a CPU.
	restlessCost    = 40e3
	restlessShare   = 16
	longestRestless = 1e9 // mean back-off of such a thread, ns
	calmAfter       = 1e9 // a sleep after which it is as any other, ns
)

// noteRestless records whether a thread wakes often while the kernel samples it.
func (p *Policy) noteRestless(th *Thread, restless bool) {
	if th.restless == restless {
		return
	}
	n := 1
	th.restless = restless
	if !restless {
		n = -1
	}
	th.proc.restless += n
	p.restless += n
}

func (p *Policy) backOffRestless(th *Thread) {
	if th.restless {
		th.backoff = max(th.backoff, p.restlessBackoff())
		th.observedAt, th.clockAtObservation = p.now, th.proc.clock
	}
}

// restlessBackoff returns the back-off of a restless sleeper, in ns; 0 means none.
func (p *Policy) restlessBackoff() int64 {
	length := min(int64(p.restless)*restlessCost*restlessShare, longestRestless)
	if length < 2*p.period {
		return 0
	}
	return length - length/4 + p.rng.Int64N(length/2)
}

// MayWait reports whether a sample of the thread waits for its next due observation: one right after a run would favour
// short sleeps.
func (th *Thread) MayWait() bool { return th.restless && th.inWheel }
