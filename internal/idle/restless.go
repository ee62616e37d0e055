// SPDX-License-Identifier: Apache-2.0

package idle

const (
	// A look at a sleeper that woke often lately takes restlessCost ns, with all that goes with it. All looks at such
	// threads take no more than one part in restlessShare of a processor.
	restlessCost  = 40e3
	restlessShare = 16
	// longestRest is the longest that such a thread is left alone for on average, in nanoseconds.
	longestRest = 1e9
	// calmAfter is for how long such a thread must sleep until it is one as any other, in nanoseconds.
	calmAfter = 1e9
)

// noteRestless takes note of whether a thread wakes often, and the kernel samples it where it runs.
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

// rest has a restless sleeper left alone.
func (c *Policy) rest(th *Thread) {
	if th.restless {
		th.backoff = max(th.backoff, c.restlessFor())
		th.lookedAt, th.clock = c.at, th.proc.cpu
	}
}

// restlessFor gives for how long a restless sleeper is left alone, in nanoseconds; 0: it is looked at in the next tick.
func (c *Policy) restlessFor() int64 {
	length := min(int64(c.restless)*restlessCost*restlessShare, longestRest)
	if length < 2*c.period {
		return 0
	}
	return length - length/4 + c.rng.Int64N(length/2)
}

// mayRest reports whether a thread that wakes often may be left alone: its samples say where it runs.
func (th *Thread) mayRest() bool { return th.Look.Sampled() }

// MayWait reports whether a sample of the thread may wait until the thread's next look is due. It may where the thread
// wakes often and is left alone all the same. Were it looked at because it has just run, the sleep after that would be
// looked at, however short it is. So looks would find short sleeps too often.
func (th *Thread) MayWait() bool { return th.restless && th.filed }
