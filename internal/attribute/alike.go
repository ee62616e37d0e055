// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"prywalk/frames"
	"prywalk/internal/sample"
)

// # Samples share alike
//
// A thread that runs in bursts is sampled once or twice in each. To give a sample what the thread has used since the
// one before favours places of a burst. The first sample of a burst has what was left of the last one. And the clock of
// a thread that runs is up to a tick of the kernel's old, so that what it shows in a burst is a part of it. Each sample
// stands for as much processor time as any other. So they are kept until there are some tens, and have equal parts of
// what the thread has used meanwhile. That ends where the thread sleeps, if it does: there its clock is exact.
//
// Its time waiting for a processor is not kept.

const (
	// enoughAlike is from how many samples on they are booked once the thread sleeps, mostAlike in any case.
	enoughAlike = 32
	mostAlike   = 64
	// alikeFor is for how long the first of them may wait, in nanoseconds.
	alikeFor = 5e9
)

// sampledAt is a sample that waits for its part.
type sampledAt struct {
	stack     sample.StackID
	stop      frames.StopReason
	at, queue int64 // its moment and its time waiting for a processor, ns
}

// alike are samples of one thread that are to have equal parts of its processor time.
type alike struct {
	of  []sampledAt
	cpu int64 // used up to the last of them, ns
}

// Sample books a sample of a thread on a processor.
func (c *Clock) Sample(r sample.Reading, s Seen, emit func(Span)) {
	cpu, runq, blocked := c.begin(r, emit)
	c.wakes(r, cpu, runq, blocked, emit)
	cpu += c.carryCPU
	runq += c.carryRunq
	c.carryCPU, c.carryRunq = 0, 0
	c.lastRun, c.lastOn, c.lastOnAt = s, s, r.Wall
	c.alike.of = append(c.alike.of, sampledAt{s.Stack, s.Stop, r.Wall, runq})
	c.alike.cpu += cpu
	c.shareIfDue(r.Wall, false, emit)
}

// shareIfDue books the samples that wait, if they are enough or wait for long. asleep: the thread slept at the moment
// now, so that what it has used since the last of them is theirs, too.
func (c *Clock) shareIfDue(now int64, asleep bool, emit func(Span)) {
	n := len(c.alike.of)
	if n == 0 || n < enoughAlike && now-c.alike.of[0].at < alikeFor || n < mostAlike && !asleep {
		return
	}
	if asleep {
		c.shareAll(emit)
		return
	}
	c.share(emit)
}

// shareAll is share with what the thread has used since the last sample.
func (c *Clock) shareAll(emit func(Span)) {
	if len(c.alike.of) > 0 {
		c.alike.cpu += c.carryCPU
		c.carryCPU = 0
	}
	c.share(emit)
}

// share books the samples that wait.
func (c *Clock) share(emit func(Span)) {
	c.divide(emit)
	c.alike = alike{of: c.alike.of[:0]}
}

// divide gives the samples their parts. These add up to the last nanosecond. None begins before the thread's time
// does: what a sample cannot have is the later ones', and in the end no sample's.
func (c *Clock) divide(emit func(Span)) {
	of, rest := c.alike.of, c.alike.cpu
	for i := range of {
		s := &of[i]
		part := min(rest/int64(len(of)-i), max(s.at-c.first.Wall-s.queue, 0))
		rest -= part
		emit(Span{Seen: s.seen(), End: s.at, Samples: 1, Wall: part + s.queue, RunQueue: s.queue, CPU: part})
	}
	if rest > 0 {
		emit(Span{Seen: of[len(of)-1].seen(), End: c.last.Wall, Wall: rest, CPU: rest})
	}
}

// seen gives where the thread ran.
func (s *sampledAt) seen() Seen { return Seen{Stack: s.stack, State: sample.Running, Stop: s.stop} }
