// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"sync"
	"sync/atomic"

	"prywalk/internal/handover"
	"prywalk/internal/refusal"
)

// Control is what other goroutines may ask of a tracer, and see of it.
type Control struct {
	arrive chan *handover.Process
	asked  atomic.Bool  // a checkpoint was asked for
	held   atomic.Bool  // no looks are wanted for now
	still  atomic.Bool  // none is made
	thread atomic.Int64 // the tracer's OS thread; 0: not known yet
	begun  atomic.Int64 // the moment of the first tick, CLOCK_MONOTONIC ns

	mu       sync.Mutex
	progress Progress
}

// NewControl makes the control of a tracer for which at most n processes wait.
func NewControl(n int) *Control { return &Control{arrive: make(chan *handover.Process, n)} }

// Admit gives it a process to look at; false if too many wait.
func (k *Control) Admit(p *handover.Process) bool {
	select {
	case k.arrive <- p:
		return true
	default:
		return false
	}
}

// Arriving gives the processes that are to be sampled and are not taken on yet.
func (k *Control) Arriving() <-chan *handover.Process { return k.arrive }

// CheckpointNow asks for a checkpoint at the next tick.
func (k *Control) CheckpointNow() { k.asked.Store(true) }

// Hold has the tracer leave its targets alone until [Control.Resume].
func (k *Control) Hold() { k.held.Store(true) }

// Resume ends what Hold began.
func (k *Control) Resume() { k.held.Store(false) }

// Held reports whether a Hold has taken effect: nobody is stopped or asked to stop, but for
// threads that do not stop for seconds (in an uninterruptible sleep).
func (k *Control) Held() bool { return k.still.Load() }

// Thread gives the number of the tracer's OS thread, 0 if it has none yet.
func (k *Control) Thread() int { return int(k.thread.Load()) }

// Begun gives the moment of the first tick in CLOCK_MONOTONIC nanoseconds, 0 if there was none yet.
func (k *Control) Begun() int64 { return k.begun.Load() }

// Progress is how far the looks have come.
type Progress struct {
	Ticks, Missed, Looks, Failed int64
	Frozen                       int64 // of the looks
	Denied, Traced               int64 // of those that failed: the kernel refused them, another tracer held the thread
	Withheld                     int64 // ticks, by the budget
	Threads                      int
}

// Progress gives it as of the last tick.
func (k *Control) Progress() Progress {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.progress
}

// publish lets others see how far the tracer has come.
func (c *Tracer) publish() {
	k, n := c.control, &c.counts
	if !k.mu.TryLock() {
		return // the reader is at it; the next tick publishes again
	}
	k.progress = Progress{
		Ticks: n.ticks, Missed: c.ticks.Missed, Threads: c.now.threads, Looks: n.frozen + n.peeked + n.reused,
		Frozen: n.frozen, Withheld: c.budget.Withheld,
		Denied: n.failed[refusal.Denied], Traced: n.failed[refusal.Traced],
	}
	for _, failed := range n.failed {
		k.progress.Failed += failed
	}
	k.mu.Unlock()
}
