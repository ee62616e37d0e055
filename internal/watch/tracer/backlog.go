// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// backlog hands events over, and bounds the copies that wait for their walks.
type backlog struct {
	shared    *target.SharedState
	stops     *stops
	pausedFor time.Duration // in the tick
	maxBytes  int64         // most bytes that waited
}

const (
	// SomeBacklog is the bytes of stack copied in a tick, and of all copies waiting for their walks, beyond both of which
	// the tick pauses: pauses cost more ticks than those that MaxBacklog prevents.
	SomeBacklog = 16 << 20
	// MaxBacklog is the bytes waiting for their walks that prevent observations and ticks. Kernel samples are taken up
	// to a bound of their own (package perfengine).
	MaxBacklog    = 64 << 20
	handOverEarly = 64
	// CatchUpFor bounds the pauses of one tick; catchUpStep is one.
	CatchUpFor  = time.Second
	catchUpStep = 200 * time.Microsecond
)

func (b *backlog) beginTick() { b.pausedFor = 0 }

// isFull reports whether the aggregator is far behind, or a garbage collection is due.
func (b *backlog) isFull(now ptrace.Moment) bool {
	return !b.shared.Queue.HasRoom() || b.shared.Pool.BytesWaiting() > MaxBacklog || b.shared.Garbage.Draining(int64(now))
}

// roomForCopy reports whether a further stack may be copied. It may pause.
func (b *backlog) roomForCopy() bool {
	if b.shared.Out.Len() >= handOverEarly {
		b.handOver()
	}
	waiting := b.shared.Pool.BytesWaiting()
	b.maxBytes = max(b.maxBytes, waiting)
	if waiting > SomeBacklog && b.shared.Tick.Copies > SomeBacklog {
		for b.pausedFor < CatchUpFor && b.shared.Pool.BytesWaiting() > SomeBacklog/2 {
			b.handOver()
			began := ptrace.Now()
			b.pausedFor += b.stops.pause(began.Add(catchUpStep)).Sub(began)
		}
	}
	return b.shared.Ending || b.shared.Pool.BytesWaiting() <= MaxBacklog
}

func (b *backlog) handOver() {
	ptrace.Pin() // a send wakes the aggregator on this CPU
	defer ptrace.Unpin()
	b.shared.Out.HandOver(b.shared.Tick.At)
}

// handOverAll finishes pending stops while it waits for room.
func (b *backlog) handOverAll() {
	for !b.shared.Queue.HasRoom() && b.stops.pollAndSleep() {
	}
	b.shared.Out.Flush()
}

func (b *backlog) stats(s *runstats.Stats) { s.Backlog = b.maxBytes }
