// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/observe"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

type counts struct {
	attempted, byStop, byPassiveRead, unchanged int64
	queued                                      int64
	inferred, ranInBackoff                      int64 // ticks of back-offs in which the thread had not run; had run
	failed                                      [refusal.NumReasons]int64
	shortRuns                                   shortRuns
	callEffects                                 callEffects
	stopCounts
}

type stopCounts struct {
	restarted               int64 // system calls
	lengths                 runstats.Histogram
	longest                 runstats.Stop
	copies                  runstats.Histogram // bytes of stack
	longStopsBy             [ptrace.NumCauses]runstats.LongEvents
	lateStops, awaitedLocks runstats.LongEvents
}

// shortRuns counts runs shorter than shortRun on average. cpu is in ns.
type shortRuns struct{ n, cpu int64 }

const shortRun = 1e6

func (s *shortRuns) add(runs, cpu int64) {
	if cpu < runs*shortRun {
		s.n += runs
		s.cpu += cpu
	}
}

// samples returns the number of stops and passive reads that gave a stack.
func (c *counts) samples() int64 { return c.byStop + c.byPassiveRead }

// postponed counts an observation that was begun and is left to a later tick.
func (c *counts) postponed() {
	c.attempted--
	c.queued++
}

// stopped counts a sample by a stop.
func (c *counts) stopped(t *observe.Thread, s *observe.RawSample) {
	if s.StopTime > c.lengths.Max {
		c.longest = runstats.Stop{PID: t.PID, TID: t.TID, Copied: s.Copied()}
	}
	c.byStop++
	c.callEffects.add(s)
	c.lengths.Add(s.StopTime)
	c.copies.Add(s.Copied())
	if s.Restarted {
		c.restarted++
	}
	if s.StopTime > observe.LongStop {
		c.longStopsBy[s.StopCause].Add(s.StopTime)
	}
	if s.RanOn > observe.LongStop {
		c.lateStops.Add(s.RanOn)
	}
	if s.LockWait > observe.LongStop {
		c.awaitedLocks.Add(s.LockWait)
	}
}

// stopFailed counts a stop of ns without a sample.
func (c *counts) stopFailed(t *observe.Thread, ns int64) {
	if ns > c.lengths.Max {
		c.longest = runstats.Stop{PID: t.PID, TID: t.TID}
	}
	c.lengths.Add(ns)
	if ns > observe.LongStop {
		c.longStopsBy[ptrace.CauseLock].Add(ns)
	}
}

func (c *counts) addFailure(r refusal.Reason) { c.failed[r]++ }

// maxCalls bounds the numbers of system calls that are counted separately.
const maxCalls = 512

// callEffects counts visible effects of stops by system call; the last element is for other calls.
type callEffects struct {
	broken, reported [maxCalls + 1]int64
}

func (c *callEffects) add(s *observe.RawSample) {
	at := maxCalls
	if s.BrokenCall >= 0 && s.BrokenCall < maxCalls {
		at = int(s.BrokenCall)
	}
	if s.Broken {
		c.broken[at]++
	}
	if s.ReportedTwice {
		c.reported[at]++
	}
}

// byCall returns the positive counts by the name of the call. The rest of all is of "other".
func byCall(counts *[maxCalls + 1]int64, all int64) map[string]int64 {
	byName := map[string]int64{}
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name := "other"
		if nr < maxCalls {
			name = observe.CallName(int64(nr))
		}
		byName[name] += n
		all -= n
	}
	if all > 0 {
		byName["other"] += all
	}
	return byName
}
