// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/observe"
	procs "prywalk/internal/process"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

type stopCounts struct {
	restarted               int64
	callEffects             callEffects
	lengths                 runstats.Histogram
	longest                 runstats.Stop
	copies                  runstats.Histogram // bytes
	longStopsBy             [ptrace.NumCauses]runstats.LongEvents
	lateStops, awaitedLocks runstats.LongEvents
}

func (c *stopCounts) noteStop(t *observe.Thread, s *observe.RawSample) {
	c.note(t, &observe.StopRecord{Time: s.StopTime, Cause: s.StopCause, CallEffect: s.CallEffect}, s.Copied())
	c.copies.Add(s.Copied())
	if s.RanOn > observe.LongStop {
		c.lateStops.Add(s.RanOn)
	}
	if s.LockWait > observe.LongStop {
		c.awaitedLocks.Add(s.LockWait)
	}
}

func (c *stopCounts) noteLostStop(t *observe.Thread, stop *observe.StopRecord) { c.note(t, stop, 0) }

func (c *stopCounts) note(t *observe.Thread, stop *observe.StopRecord, copied int64) {
	if stop.Time > c.lengths.Max {
		c.longest = runstats.Stop{PID: t.PID, TID: t.TID, Copied: copied}
	}
	c.callEffects.add(&stop.CallEffect)
	if stop.Restarted {
		c.restarted++
	}
	c.lengths.Add(stop.Time)
	if stop.Time > observe.LongStop {
		c.longStopsBy[stop.Cause].Add(stop.Time)
	}
}

func (c *stopCounts) stats(s *runstats.Stopped) {
	s.LateStops, s.AwaitedLocks = c.lateStops, c.awaitedLocks
	if c.lengths.N == 0 {
		return
	}
	s.StopTime = runstats.Quantiles[runstats.Nanos]{
		N: c.lengths.N, P50: runstats.Nanos(c.lengths.Quantile(0.5)), P99: runstats.Nanos(c.lengths.Quantile(0.99)),
		Max: runstats.Nanos(c.lengths.Max),
	}
	s.CopiedBytes = runstats.Quantiles[int64]{
		N: c.copies.N, P50: c.copies.Quantile(0.5), P99: c.copies.Quantile(0.99), Max: c.copies.Max,
	}
	s.StopTimes = c.lengths.Buckets()
	s.LongStops = c.longStops()
	s.LongestStop = c.longest
}

func (c *stopCounts) longStops() runstats.Causes {
	causes := runstats.Causes{}
	for cause, l := range c.longStopsBy {
		if l.N > 0 {
			causes[ptrace.Cause(cause).String()] = l
		}
	}
	return causes
}

// calls returns the effects on system calls; broken and repeated count all calls.
func (c *stopCounts) calls(broken, repeated int64) runstats.Calls {
	return runstats.Calls{
		Restarted: c.restarted, Broken: broken, ReportedTwice: repeated,
		BrokenCalls: byCall(&c.callEffects.broken, broken), ReportedTwiceCalls: byCall(&c.callEffects.reported, repeated),
	}
}

const maxCalls = 512

// callEffects has counts by call; the last element is for other calls.
type callEffects struct {
	broken, reported [maxCalls + 1]int64
}

func (c *callEffects) add(e *observe.CallEffect) {
	at := maxCalls
	if e.BrokenCall >= 0 && e.BrokenCall < maxCalls {
		at = int(e.BrokenCall)
	}
	if e.Broken {
		c.broken[at]++
	}
	if e.ReportedTwice {
		c.reported[at]++
	}
}

func byCall(counts *[maxCalls + 1]int64, all int64) map[string]int64 {
	byName := map[string]int64{}
	for nr, n := range counts {
		if n == 0 {
			continue
		}
		name := "other"
		if nr < maxCalls {
			name = procs.HostSyscallName(int64(nr))
		}
		byName[name] += n
		all -= n
	}
	if all > 0 {
		byName["other"] += all
	}
	return byName
}
