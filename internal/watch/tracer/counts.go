// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/errs"
	procs "prywalk/internal/host/process"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

// counts are of observations. An attempted one gave a sample, found the thread unchanged, or failed; one left to a
// later tick or to an engine is not attempted.
type counts struct {
	attempted, byStop, byPassiveRead, unchanged int64
	leftToLaterTick                             int64
	inferred, ranInBackoff                      int64 // ticks of back-offs in which the thread had not run, or had run
	failed                                      [errs.NumReasons]int64
	stops                                       stopCounts
}

func (c *counts) countAttempt() { c.attempted++ }

func (c *counts) countNotAdmitted() { c.leftToLaterTick++ }

func (c *counts) countPostponed() {
	c.attempted--
	c.leftToLaterTick++
}

// withdraw is for an observation that is left to an engine or to a second attempt.
func (c *counts) withdraw() { c.attempted-- }

func (c *counts) countUnchanged(inferred int64) {
	c.unchanged++
	c.inferred += inferred
}

func (c *counts) countRan(ticks int64) { c.ranInBackoff += ticks }

func (c *counts) countFailure(r errs.Reason) { c.failed[r]++ }

func (c *counts) countSample(t *observe.Thread, s *observe.RawSample) {
	if s.How != observe.ByStop {
		c.byPassiveRead++
		return
	}
	c.byStop++
	c.stops.countStop(t, s)
}

func (c *counts) attempts() int64 { return c.attempted }

func (c *counts) samples() int64 { return c.byStop + c.byPassiveRead }

func (c *counts) exitedAttempts() int64 { return c.failed[errs.Exited] }

func (c *counts) stats(s *runstats.Stats) {
	s.Attempted, s.Stops, s.PassiveReads, s.Unchanged = c.attempted, c.byStop, c.byPassiveRead, c.unchanged
	s.LeftToLaterTick, s.Inferred, s.RanInBackoff = c.leftToLaterTick, c.inferred, c.ranInBackoff
	s.Failed = map[string]int64{}
	for reason, failed := range c.failed {
		if failed != 0 {
			s.Failed[errs.Reason(reason).Word()] += failed
		}
	}
	c.stops.stats(&s.Stopped)
}

func (c *counts) progress(p *Progress) {
	p.Observations, p.Stops = c.samples()+c.unchanged, c.byStop
	p.Denied, p.Traced = c.failed[errs.Denied], c.failed[errs.Traced]
	for _, failed := range c.failed {
		p.Failed += failed
	}
}

type stopCounts struct {
	restarted   int64
	callEffects callEffects
	lengths     runstats.Histogram
	longest     runstats.Stop
	copies      runstats.Histogram // bytes
	longStopsBy [ptrace.NumCauses]runstats.LongEvents
	lateStops   runstats.LongEvents
}

func (c *stopCounts) countStop(t *observe.Thread, s *observe.RawSample) {
	c.add(t, &s.Stop, s.Copied())
	c.copies.Add(s.Copied())
	if s.RanOn > observe.LongStop {
		c.lateStops.Add(s.RanOn)
	}
}

func (c *counts) countLostStop(t *observe.Thread, stop *observe.StopRecord) { c.stops.add(t, stop, 0) }

func (c *stopCounts) add(t *observe.Thread, stop *observe.StopRecord, copied int64) {
	if stop.StopTime > time.Duration(c.lengths.Max) {
		c.longest = runstats.Stop{PID: t.ID.PID, TID: t.ID.TID, Copied: copied}
	}
	c.callEffects.add(&stop.Effect)
	if stop.Effect.Repair.Restarted {
		c.restarted++
	}
	c.lengths.Add(int64(stop.StopTime))
	if stop.StopTime > observe.LongStop {
		c.longStopsBy[stop.StopCause].Add(stop.StopTime)
	}
}

func (c *stopCounts) stats(s *runstats.Stopped) {
	s.LateStops = c.lateStops
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
func (c *counts) calls(broken, repeated int64) runstats.Calls {
	effects := &c.stops.callEffects
	return runstats.Calls{
		Restarted: c.stops.restarted, Broken: broken, ReportedTwice: repeated,
		BrokenCalls: byCall(&effects.broken, broken), ReportedTwiceCalls: byCall(&effects.reported, repeated),
	}
}

const maxCalls = 512

// callEffects has counts by call; the last element is for other calls.
type callEffects struct {
	broken, reported [maxCalls + 1]int64
}

func (c *callEffects) add(e *observe.CallEffect) {
	at := maxCalls
	if e.Call >= 0 && e.Call < maxCalls {
		at = int(e.Call)
	}
	if e.Repair.Broken {
		c.broken[at]++
	}
	if e.Repair.ReportedTwice {
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
