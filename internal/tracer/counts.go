// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/look"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// counts are what the tracer counts. The progress line reads a copy of some (Control).
type counts struct {
	ticks, attempted, frozen, peeked, reused, restarted int64
	sleptAgain                                          int64 // of those that were peeked at
	sampled, claimed                                    int64
	queued, threadsMax                                  int64
	inferred, unseen                                    int64
	shortRuns, shortRunsCPU                             int64 // runs of threads on a processor; ns
	backlog                                             int64 // the most bytes of copies that waited to be unwound
	failed                                              [refusal.NumReasons]int64
	freezes                                             histogram
	longest                                             runstats.Freeze
	copies                                              histogram // bytes of stack that a freeze copied
	long                                                [ptrace.NumCauses]runstats.Long
	late, awaited                                       runstats.Long // see runstats.Stopped
}

// shortRun is how long the runs of a thread on a processor are on average where they count as short, in nanoseconds: of
// longer ones, what samples miss is not worth a word.
const shortRun = 1e6

// ran counts the runs of a thread, if they are short.
func (c *counts) ran(runs, cpu int64) {
	if cpu < runs*shortRun {
		c.shortRuns += runs
		c.shortRunsCPU += cpu
	}
}

// froze counts a look by a freeze.
func (c *counts) froze(s *look.Shot) {
	c.frozen++
	c.freezes.add(s.Stopped)
	c.copies.add(s.Copied())
	if s.Restarted {
		c.restarted++
	}
	if s.Stopped > look.LongFreeze {
		c.long[s.Why].Add(s.Stopped)
	}
	if s.Late > look.LongFreeze {
		c.late.Add(s.Late)
	}
	if s.Awaited > look.LongFreeze {
		c.awaited.Add(s.Awaited)
	}
}

// letGo counts the stop of a look that failed, because its thread's memory could not be read in time.
func (c *counts) letGo(ns int64) {
	c.freezes.add(ns)
	if ns > look.LongFreeze {
		c.long[ptrace.CauseLock].Add(ns)
	}
}

func (c *counts) fail(r refusal.Reason) { c.failed[r]++ }

// mostCalls bounds the numbers of system calls of which it is counted how often looks broke them.
const mostCalls = 512

// callEffects counts what looks did to calls that could not be hidden, by the number of the call; the last place is
// that of others.
type callEffects struct {
	broken, told [mostCalls + 1]int64
}

// add counts what a look did.
func (h *callEffects) add(s *look.Shot) {
	at := mostCalls
	if s.BrokenCall >= 0 && s.BrokenCall < mostCalls {
		at = int(s.BrokenCall)
	}
	if s.Broken {
		h.broken[at]++
	}
	if s.Told {
		h.told[at]++
	}
}

// byCall makes a map of the counts that are not zero, by the name of the call. What is missing up to all, as it was
// done by looks that were given up, is "other".
func byCall(counts *[mostCalls + 1]int64, all int64) map[string]int64 {
	m := map[string]int64{}
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name := "other"
		if nr < mostCalls {
			name = look.CallName(int64(nr))
		}
		m[name] += n
		all -= n
	}
	if all > 0 {
		m["other"] += all
	}
	return m
}
