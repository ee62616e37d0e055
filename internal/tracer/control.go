// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"sync"
	"sync/atomic"

	"prywalk/internal/handover"
)

// Control passes requests of other goroutines to a tracer, and has its progress. Safe for concurrent use.
type Control struct {
	arrive chan *handover.Process
	asked  atomic.Bool  // a checkpoint
	held   atomic.Bool  // a Hold was requested
	still  atomic.Bool  // it has taken effect
	thread atomic.Int64 // OS thread id; 0: not known yet
	begun  atomic.Int64 // first tick, CLOCK_MONOTONIC ns

	mu       sync.Mutex
	progress Progress
}

// NewControl makes the control of a tracer for which at most n processes wait.
func NewControl(n int) *Control { return &Control{arrive: make(chan *handover.Process, n)} }

// Admit passes a process to sample; false if too many wait.
func (k *Control) Admit(p *handover.Process) bool {
	select {
	case k.arrive <- p:
		return true
	default:
		return false
	}
}

// Arriving gives the processes that wait to be tracked.
func (k *Control) Arriving() <-chan *handover.Process { return k.arrive }

// CheckpointNow asks for a checkpoint at the next tick.
func (k *Control) CheckpointNow() { k.asked.Store(true) }

// Hold stops observations until [Control.Resume].
func (k *Control) Hold() { k.held.Store(true) }

// Resume ends a Hold.
func (k *Control) Resume() { k.held.Store(false) }

// Held reports whether a Hold has taken effect: no stop is pending, except of threads in an uninterruptible sleep.
func (k *Control) Held() bool { return k.still.Load() }

// Thread gives the id of the tracer's OS thread; 0: none yet.
func (k *Control) Thread() int { return int(k.thread.Load()) }

// Begun gives the moment of the first tick, CLOCK_MONOTONIC ns; 0: none yet.
func (k *Control) Begun() int64 { return k.begun.Load() }

// Progress holds counts so far.
type Progress struct {
	Ticks, MissedTicks   int64
	Observations, Failed int64
	Stops                int64 // observations by stops
	Denied, Traced       int64 // refused by the kernel; held by another tracer
	WithheldTicks        int64 // ticks, by the budget
	Threads              int
	Rate                 float64 // allowed by the budget, ticks/s
}

// Progress gives the counts as of the last tick.
func (k *Control) Progress() Progress {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.progress
}

func (k *Control) publish(p *Progress) {
	if !k.mu.TryLock() {
		return
	}
	k.progress = *p
	k.mu.Unlock()
}
