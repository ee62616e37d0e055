// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/ptrace"
)

// backlog hands events over to the aggregator, and bounds the copies of stacks that wait for their walks.
type backlog struct {
	*engine.SharedState
	stops    *stops
	paused   int64 // of the present tick: wait for the aggregator, ns
	maxBytes int64 // most bytes of copies that waited
}

const (
	// SomeBacklog is the number of copied bytes in a tick, and of bytes that wait for their walks, beyond which the
	// tick pauses.
	SomeBacklog = 16 << 20
	// MaxBacklog is how many waiting bytes prevent observations and ticks.
	MaxBacklog = 64 << 20
	// handOverEarly is the number of events after which a tick hands over.
	handOverEarly = 64
	// CatchUpFor bounds the pauses of one tick, in ns; catchUpStep is one.
	CatchUpFor  = 1e9
	catchUpStep = 200e3
)

func (b *backlog) beginTick() { b.paused = 0 }

// isFull reports whether the aggregator is far behind, or a garbage collection is due.
func (b *backlog) isFull(now int64) bool {
	return !b.Queue.HasRoom() || b.Pool.BytesInUse() > MaxBacklog || b.Garbage.Draining(now)
}

// roomForCopy reports whether a further stack may be copied. It may pause.
func (b *backlog) roomForCopy() bool {
	if b.Out.Len() >= handOverEarly {
		b.handOver()
	}
	waiting := b.Pool.BytesWaiting()
	b.maxBytes = max(b.maxBytes, waiting)
	if waiting > SomeBacklog && b.Tick.Copies > SomeBacklog {
		for b.paused < CatchUpFor && b.Pool.BytesWaiting() > SomeBacklog/2 {
			b.handOver()
			began := procmem.Now()
			b.paused += b.stops.pause(began+catchUpStep) - began
		}
	}
	return b.Ending || b.Pool.BytesWaiting() <= MaxBacklog
}

// handOver sends the outbox to the aggregator if there is room.
func (b *backlog) handOver() {
	ptrace.Pin() // a send wakes the aggregator on this CPU
	defer ptrace.Unpin()
	b.Out.HandOver(b.Tick.At)
}

// handOverAll sends the last events. It waits for room while stops are pending.
func (b *backlog) handOverAll() { b.Out.Flush(b.send) }

func (b *backlog) send(events handover.Batch) {
	for !b.Queue.HasRoom() && b.stops.pollAndSleep() {
	}
	b.Queue.Send(events)
}

func (b *backlog) stats(s *runstats.Stats) { s.Backlog = b.maxBytes }
