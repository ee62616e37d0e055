// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/bits"

	"prywalk/frames"
	"prywalk/internal/sample"
)

// # Equal parts for samples of bursts
//
// The clock of a running thread is up to a kernel tick old, so clock differences favour places within a burst. But each
// kernel sample stands for one period of CPU time. So samples are deferred until the thread sleeps, where its clock is
// exact, and get parts in proportion to their periods: equal ones unless the rate was changed.

const (
	// enoughAlike samples are attributed once the thread sleeps, mostAlike in any case.
	enoughAlike = 32
	mostAlike   = 64
	// greatest age, ns
	longestAlike = 5e9
)

type sampledAt struct {
	stack     sample.StackID
	stop      frames.StopReason
	at, queue int64 // time, run queue time, ns
	period    int64 // ns; 0: unknown, as all others
}

type alike struct {
	of  []sampledAt
	cpu int64
}

// Sample adds a kernel sample of a thread on a processor, which stands for period ns.
func (c *Clock) Sample(r sample.Reading, s Seen, period int64, emit func(Span)) {
	cpu, runq, blocked := c.begin(r, emit)
	c.endSleep(r, cpu, runq, blocked, emit)
	cpu += c.carryCPU
	runq += c.carryRunq
	c.carryCPU, c.carryRunq = 0, 0
	c.lastRun, c.lastOn, c.lastOnAt = s, s, r.Wall
	c.alike.of = append(c.alike.of, sampledAt{s.Stack, s.Stop, r.Wall, runq, period})
	c.alike.cpu += cpu
	c.shareIfDue(r.Wall, false, emit)
}

// asleep: the thread sleeps at now.
func (c *Clock) shareIfDue(now int64, asleep bool, emit func(Span)) {
	n := len(c.alike.of)
	if n == 0 || n < enoughAlike && now-c.alike.of[0].at < longestAlike || n < mostAlike && !asleep {
		return
	}
	if asleep {
		c.shareAll(emit)
		return
	}
	c.share(emit)
}

func (c *Clock) shareAll(emit func(Span)) {
	if len(c.alike.of) > 0 {
		c.alike.cpu += c.carryCPU
		c.carryCPU = 0
	}
	c.share(emit)
}

func (c *Clock) share(emit func(Span)) {
	c.divide(emit)
	c.alike = alike{of: c.alike.of[:0]}
}

// No part begins before the thread's time does: the rest goes to later samples, then to a span without sample.
func (c *Clock) divide(emit func(Span)) {
	of, rest := c.alike.of, c.alike.cpu
	periods := int64(0)
	for i := range of {
		periods += of[i].weight()
	}
	for i := range of {
		s := &of[i]
		part := min(proportion(rest, s.weight(), periods), max(s.at-c.first.Wall-s.queue, 0))
		periods -= s.weight()
		rest -= part
		emit(Span{Seen: s.seen(), End: s.at, Samples: 1, Wall: part + s.queue, RunQueue: s.queue, CPU: part})
	}
	if rest > 0 {
		emit(Span{Seen: of[len(of)-1].seen(), End: c.last.Wall, Wall: rest, CPU: rest})
	}
}

// mostPeriod bounds a period, ns: a day.
const mostPeriod = 24 * 3600 * 1e9

func (s *sampledAt) weight() int64 { return min(max(s.period, 1), mostPeriod) }

// proportion gives n × part / all, rounded down. Precondition: 0 < part ≤ all.
func proportion(n, part, all int64) int64 {
	if n < 0 {
		return -proportion(-n, part, all)
	}
	hi, lo := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(hi, lo, uint64(all))
	return int64(quotient)
}

func (s *sampledAt) seen() Seen { return Seen{Stack: s.stack, State: sample.Running, Stop: s.stop} }
