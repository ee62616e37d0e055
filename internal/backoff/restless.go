// SPDX-License-Identifier: Apache-2.0

package backoff

const (
	// restlessCost is the whole cost of observing a sleeper that woke lately, ns. Such observations take at most one
	// part in restlessShare of a processor.
	restlessCost  = 40e3
	restlessShare = 16
	// longestRestless is the longest mean back-off of such a thread, in nanoseconds.
	longestRestless = 1e9
	// calmAfter is the sleep after which such a thread is treated as any other, in nanoseconds.
	calmAfter = 1e9
)

// noteRestless records whether a thread wakes often while the kernel samples it.
func (c *Policy) noteRestless(th *Thread, is bool) {
	if th.restless == is {
		return
	}
	n := 1
	if th.restless = is; !is {
		n = -1
	}
	th.proc.restless += n
	c.restless += n
}

// backOffRestless backs off the thread if it is restless.
func (c *Policy) backOffRestless(th *Thread) {
	if th.restless {
		th.backoff = max(th.backoff, c.restlessBackoff())
		th.observedAt, th.clockThen = c.at, th.proc.cpu
	}
}

// restlessBackoff gives the back-off of a restless sleeper, in nanoseconds; 0: it is observed in the next tick.
func (c *Policy) restlessBackoff() int64 {
	length := min(int64(c.restless)*restlessCost*restlessShare, longestRestless)
	if length < 2*c.period {
		return 0
	}
	return length - length/4 + c.rng.Int64N(length/2)
}

// sampled reports whether samples show where the thread runs, so that it may be backed off although it is restless.
func (th *Thread) sampled() bool { return th.Observed.Sampled() }

// MayWait reports whether a sample of the thread waits for the thread's next due observation. It does for backed-off
// restless threads: observing right after a run would favour short sleeps.
func (th *Thread) MayWait() bool { return th.restless && th.filed }
