// SPDX-License-Identifier: Apache-2.0

package skid

import "prywalk/internal/sample"

const (
	// manyFrom and manyTo are the shares of stops at the end of a system call from which a thread is taken to make
	// many, and below which it no longer is.
	manyFrom = 0.2
	manyTo   = 0.03
	// exactFor is how long CPU time is carried to the next exact sample, in nanoseconds. It is less than the limit
	// after which time is attributed as not observed.
	exactFor = 4e9
	// recent is the number of stops over which the share is averaged. One stop at the end of a call suffices at first:
	// its time is carried, and the next stops decide.
	recent = 32
	// decidedAfter is the number of stops after which a thread is taken not to make many calls.
	decidedAfter = 8
)

// Calls is how often a thread stops at the end of a system call.
type Calls struct {
	share   float64 // recent share of its stops
	stops   float64 // number of stops, recent at most
	many    bool
	exactAt int64 // last exact sample, or when many became true, CLOCK_MONOTONIC ns
}

// noteStop records a stop of a thread that was on a processor. inSyscall reports that it stopped at the end of a call.
func (c *Calls) noteStop(now int64, inSyscall bool) {
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

// skids reports whether the CPU time up to an inexact sample is carried to the next exact one.
func (c *Calls) skids(now int64) bool {
	return c.many && now-c.exactAt < exactFor
}

// Basis gives how far an inexact sample shows where CPU time was spent.
func (c *Calls) Basis() sample.Basis {
	switch {
	case c.many:
		return sample.ManyCalls
	case c.stops < decidedAfter:
		return sample.Undecided
	}
	return sample.FewCalls
}

// Many reports whether the thread makes so many system calls that only samples from its own processor are exact.
func (c *Calls) Many() bool { return c.many }
