// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// # What the accountant is told besides looks

// someoneLooks takes note that threads are looked at now.
func (c *Tracer) someoneLooks(now int64) { c.tellGap(c.gaps.Looked(now)) }

// noticeGap tells the accountant of a gap, if one has ended now.
func (c *Tracer) noticeGap(now int64) { c.tellGap(c.gaps.Ended(now)) }

func (c *Tracer) tellGap(from, length int64) {
	if length > 0 {
		c.tellSleptAgain() // before: it is not known when they ran
		c.samples.since = from + length
		c.out.add(handover.Event{Kind: handover.NotObserved, At: from, Length: length})
	}
}

// noticeSuspension tells the accountant if the machine was suspended since the last tick. What was seen before is
// booked first: it has other Unix times.
func (c *Tracer) noticeSuspension(now int64) {
	slept := c.gaps.WokeUp(now, time.Now().UnixNano(), procmem.Suspended)
	if slept == 0 {
		return
	}
	c.tellUnchanged()
	c.out.add(handover.Event{Kind: handover.Resumed, At: now, Length: slept})
}

// tellUnchanged tells the accountant of all threads that were found unchanged lately.
func (c *Tracer) tellUnchanged() {
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			if th.idle.Unchanged.Ticks > 0 && !th.dead {
				c.tellClocks(th, c.now.at)
			}
		}
	}
}

// tellClocks tells the accountant what is known of a thread since its last shot.
func (c *Tracer) tellClocks(th *thread, now int64) {
	th.told = now
	c.out.add(handover.Event{Kind: handover.Unchanged, Thread: th.shared, Before: th.idle.TakeUnchanged()})
}

// tellSleptAgain tells the accountant of all threads that have run, and slept where they had slept before.
func (c *Tracer) tellSleptAgain() {
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			if th.idle.Unchanged.Ran && !th.dead {
				c.tellClocks(th, c.now.at)
			}
		}
	}
}

// checkpointPart bounds what checkpoints take. Each is written whole, so that those of a long recording take ever
// longer. A checkpoint comes no sooner than so many times as long after the one before as that took. tellPart does so
// for the watcher.
const (
	checkpointPart = 20
	tellPart       = 200
)

// asks is when the accountant was asked last, CLOCK_MONOTONIC ns.
type asks struct {
	checkpoint int64 // for a checkpoint
	refresh    int64 // to tell the watcher what goes on
}

// askWhatIsDue asks for a checkpoint and for the watcher to be told, if it is time to.
func (c *Tracer) askWhatIsDue(now int64) {
	c.tellEnded(now)
	if r := &c.Requests.Checkpoint; c.control.asked.Swap(false) || c.checkpointDue(now) {
		r.Ask()
		c.ask(handover.Event{Kind: handover.CheckpointAsked})
		c.asks.checkpoint = now
	}
	if r := &c.Requests.Refresh; c.refreshDue(now) {
		r.Ask()
		c.ask(handover.Event{Kind: handover.RefreshAsked, At: now})
		c.asks.refresh = now
	}
}

// ask hands a request over, with everything up to now.
func (c *Tracer) ask(e handover.Event) {
	c.tellUnchanged()
	c.out.add(e)
	c.out.handOver(c.now.at) // or after a later tick, if the accountant is far behind
}

// checkpointDue reports whether it is time for a checkpoint.
func (c *Tracer) checkpointDue(now int64) bool {
	every, r := int64(c.opts.CheckpointEvery), &c.Requests.Checkpoint
	if c.asks.checkpoint == 0 {
		c.asks.checkpoint = now
	}
	return every > 0 && !r.Open() && now-c.asks.checkpoint > max(every, checkpointPart*r.Took())
}

// refreshDue reports whether the watcher is to be told what goes on.
func (c *Tracer) refreshDue(now int64) bool {
	every, r := int64(c.opts.WatchEvery), &c.Requests.Refresh
	if every <= 0 || r.Open() {
		return false
	}
	if c.asks.refresh == 0 {
		c.asks.refresh = now
	}
	return now-c.asks.refresh >= max(every, tellPart*r.Took())
}
