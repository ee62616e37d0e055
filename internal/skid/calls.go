// SPDX-License-Identifier: Apache-2.0

package skid

import "prywalk/internal/sample"

const (
	// manyFrom and manyTo are the shares of stops at the end of a system call from which a thread is taken to make
	// many, and below which not any more.
	manyFrom = 0.2
	manyTo   = 0.03
	// exactFor is for how long time may wait for an exact look, in nanoseconds. It is
	// below the time after which it would be booked as not observed.
	exactFor = 4e9
	// recent is how many stops back the share looks. The first ones are simply averaged. If the very first is at
	// the end of a call, it is not yet known whether that says anything, and its time waits as well.
	recent = 32
	// decidedAfter is after how many stops it is believed that a thread does not make many.
	decidedAfter = 8
)

// Calls is what is known of how often a thread stops at the end of a system call.
type Calls struct {
	share   float64 // of its stops, lately
	stops   float64 // how many there were, recent at most
	many    bool
	exactAt int64 // when it was last looked at exactly, or was first taken to make many, CLOCK_MONOTONIC ns
}

// stopped takes note of a stop of a thread that was on a processor.
func (c *Calls) stopped(now int64, inSyscall bool) {
	at := 0.0
	if inSyscall {
		at = 1
	}
	c.stops = min(c.stops+1, recent)
	c.share += (at - c.share) / c.stops
	many := c.share > manyFrom || c.many && c.share >= manyTo
	if many && !c.many {
		c.exactAt = now
	}
	c.many = many
}

// skids reports whether a look at a moment, which was not exact, is no measure of where
// processor time goes because of skid.
func (c *Calls) skids(now int64) bool {
	return c.many && now-c.exactAt < exactFor
}

// Basis tells what a look is worth that was not exact.
func (c *Calls) Basis() sample.Basis {
	switch {
	case c.many:
		return sample.ManyCalls
	case c.stops < decidedAfter:
		return sample.Undecided
	}
	return sample.FewCalls
}

// Many reports whether the thread makes so many system calls that it is looked at
// exactly only from its own processor.
func (c *Calls) Many() bool { return c.many }
