// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/observe"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
)

// counts are of observations. An attempted one gave a sample, found the thread unchanged, or failed; one left to a
// later tick or to an engine is not attempted.
type counts struct {
	attempted, byStop, byPassiveRead, unchanged int64
	leftToLaterTick                             int64
	inferred, ranInBackoff                      int64 // ticks of back-offs in which the thread had not run, or had run
	failed                                      [refusal.NumReasons]int64
	shortRuns                                   shortRuns
	stopCounts
}

func (c *counts) noteBegin() { c.attempted++ }

func (c *counts) noteNotAdmitted() { c.leftToLaterTick++ }

func (c *counts) notePostponed() {
	c.attempted--
	c.leftToLaterTick++
}

// withdraw is for an observation that is left to an engine or to a second attempt.
func (c *counts) withdraw() { c.attempted-- }

func (c *counts) noteUnchanged(inferred int64) {
	c.unchanged++
	c.inferred += inferred
}

func (c *counts) noteRan(ticks int64) { c.ranInBackoff += ticks }

func (c *counts) noteFailure(r refusal.Reason) { c.failed[r]++ }

// noteEnd records the end of a thread. cpu is its CPU time, ns; runs its arrivals on a CPU.
func (c *counts) noteEnd(ranInBackoff, runs, cpu int64) {
	c.noteRan(ranInBackoff)
	c.shortRuns.add(runs, cpu)
}

func (c *counts) noteSample(t *observe.Thread, s *observe.RawSample) {
	if s.How != observe.ByStop {
		c.byPassiveRead++
		return
	}
	c.byStop++
	c.noteStop(t, s)
}

func (c *counts) attempts() int64 { return c.attempted }

func (c *counts) samples() int64 { return c.byStop + c.byPassiveRead }

func (c *counts) exitedAttempts() int64 { return c.failed[refusal.Exited] }

func (c *counts) stats(s *runstats.Stats) {
	s.Attempted, s.Stops, s.PassiveReads, s.Unchanged = c.attempted, c.byStop, c.byPassiveRead, c.unchanged
	s.LeftToLaterTick, s.Inferred, s.RanInBackoff = c.leftToLaterTick, c.inferred, c.ranInBackoff
	s.Failed = map[string]int64{}
	for reason, failed := range c.failed {
		if failed != 0 {
			s.Failed[refusal.Reason(reason).Word()] += failed
		}
	}
	s.ShortRuns = c.shortRuns.n
	s.ShortRunsCPU = seconds(c.shortRuns.cpu)
	c.stopCounts.stats(&s.Stopped)
}

func (c *counts) progress(p *Progress) {
	p.Observations, p.Stops = c.samples()+c.unchanged, c.byStop
	p.Denied, p.Traced = c.failed[refusal.Denied], c.failed[refusal.Traced]
	for _, failed := range c.failed {
		p.Failed += failed
	}
}

// shortRuns are of threads whose average run is shorter than shortRun ns.
type shortRuns struct{ n, cpu int64 }

const shortRun = 1e6

func (s *shortRuns) add(runs, cpu int64) {
	if cpu < runs*shortRun {
		s.n += runs
		s.cpu += cpu
	}
}
