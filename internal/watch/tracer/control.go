// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"sync"
	"sync/atomic"

	"prywalk/internal/account/attribute"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// Control passes requests to a tracer. It is safe for concurrent use.
type Control struct {
	arriving        chan *target.Process
	checkpointAsked atomic.Bool
	holdAsked       atomic.Bool
	holding         atomic.Bool
	thread          atomic.Int64 // ID of the OS thread; 0 before the start
	firstTick       atomic.Int64 // CLOCK_MONOTONIC ns, 0 before it

	mu       sync.Mutex
	progress Progress
}

// NewControl returns a control for which at most n processes wait.
func NewControl(n int) *Control { return &Control{arriving: make(chan *target.Process, n)} }

// Admit passes a process to the tracer. It returns false if too many wait.
func (c *Control) Admit(p *target.Process) bool {
	select {
	case c.arriving <- p:
		return true
	default:
		return false
	}
}

// Arriving returns the queue of admitted processes.
func (c *Control) Arriving() <-chan *target.Process { return c.arriving }

// CheckpointNow asks for a checkpoint at the next tick.
func (c *Control) CheckpointNow() { c.checkpointAsked.Store(true) }

// Hold suspends observations until [Control.Resume].
func (c *Control) Hold() { c.holdAsked.Store(true) }

// Resume ends a Hold.
func (c *Control) Resume() { c.holdAsked.Store(false) }

// Held reports whether a Hold has taken effect: no thread is or will be stopped, but one that has not reached a stop
// within 3 s (uninterruptible sleep, no CPU).
func (c *Control) Held() bool { return c.holding.Load() }

// Thread returns the ID of the tracer's OS thread, 0 before the start.
func (c *Control) Thread() int { return int(c.thread.Load()) }

// FirstTick returns the time of the first tick, 0 before it.
func (c *Control) FirstTick() ptrace.Moment { return ptrace.Moment(c.firstTick.Load()) }

// Progress has the counts up to the last tick.
type Progress struct {
	Ticks, MissedTicks   int64
	Observations, Failed int64
	Sampled              int64 // kernel samples
	Stops                int64
	Denied, Traced       int64 // refused by the kernel; held by another tracer
	WithheldTicks        int64
	Threads              int
	Rate                 float64 // present ticks/s
}

// Progress returns the counts up to the last tick.
func (c *Control) Progress() Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress
}

func (c *Control) publish(p *Progress) {
	if !c.mu.TryLock() {
		return
	}
	c.progress = *p
	c.mu.Unlock()
}

type requests struct {
	open                    *target.Requests
	out                     *target.Outbox
	opts                    *target.SamplingOptions
	tracked                 *tracked
	backlog                 *backlog
	checkpointed, refreshed ptrace.Moment
}

// These are the least distances of checkpoints and of refreshes, in durations of the last one.
const (
	checkpointPart = 20
	refreshPart    = 200
)

func (r *requests) addDue(now ptrace.Moment, asked bool) {
	if request := &r.open.Checkpoint; asked || r.checkpointDue(now) {
		request.Ask()
		r.add(&target.CheckpointAsked{})
		r.checkpointed = now
	}
	if request := &r.open.Refresh; r.refreshDue(now) {
		request.Ask()
		r.add(&target.RefreshAsked{Tick: attribute.Tick{At: int64(now)}})
		r.refreshed = now
	}
}

func (r *requests) begin(now ptrace.Moment) { r.checkpointed, r.refreshed = now, now }

func (r *requests) add(what attribute.Event) {
	r.tracked.reportAllUnchanged()
	r.out.Add(target.Event{What: what})
	r.backlog.handOver() // or after a later tick, if the aggregator is far behind
}

func (r *requests) checkpointDue(now ptrace.Moment) bool {
	every, request := r.opts.CheckpointEvery, &r.open.Checkpoint
	return every > 0 && !request.Open() && now.Sub(r.checkpointed) > max(every, checkpointPart*request.Took())
}

func (r *requests) refreshDue(now ptrace.Moment) bool {
	every, request := r.opts.WatchEvery, &r.open.Refresh
	pause := refreshPart * request.Took()
	if most := r.opts.WatchWithin; most > 0 {
		pause = min(pause, most)
	}
	return every > 0 && !request.Open() && now.Sub(r.refreshed) >= max(every, pause)
}
