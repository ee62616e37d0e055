// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// newThreads observes threads created since the last tick first; otherwise the beginnings of threads would be
// under-represented.
type newThreads struct {
	tick         *target.Tick
	pace         *pacer
	creations    *taskCreations
	counts       *counts
	stops        *stops
	tracked      *tracked
	observations *observations
	readTail     func(dir *procmem.TaskDir, from int, into []int) ([]int, error) // as [procmem.TaskDir.ListFrom]
	tids         []int
}

const (
	skipCost  = 20 * time.Nanosecond // in which the kernel skips one thread, at most
	skipShare = 64                   // skips of a process take at most 1/skipShare of the time
	firstTail = 8
	// A process whose clock is unchanged for stillFor (more than a scheduler tick) starts no thread.
	stillFor    = 20 * time.Millisecond
	maxListings = 3 // per process and tick
	// After 1/longDiscovery of the tick's period, the tracer may sleep before each observation ([stops.yieldCPU]).
	longDiscovery = 4
)

// observeWithoutEngine observes those of processes whose running threads are stopped. If the tick observes a subset,
// new threads are only found.
func (n *newThreads) observeWithoutEngine(now ptrace.Moment) {
	drawing := n.pace.drawsSubset()
	for _, p := range n.tracked.processes() {
		switch {
		case !p.Threads.KnowsStart():
		case drawing:
			n.find(p, now)
		case !p.EngineObserves():
			n.observe(p, now)
		}
	}
}

func (n *newThreads) observeWithEngine(now ptrace.Moment) {
	if n.pace.drawsSubset() {
		return
	}
	for _, p := range n.tracked.processes() {
		if p.Threads.KnowsStart() && p.EngineObserves() {
			n.observe(p, now)
		}
	}
}

// observe reads the list again if a new thread has ended meanwhile.
func (n *newThreads) observe(p *target.Process, now ptrace.Moment) {
	for range maxListings {
		before := len(p.Backoff.Due)
		ended := n.counts.exitedAttempts()
		n.find(p, now)
		found := p.Backoff.Due[before:]
		if len(found) == 0 {
			return
		}
		for _, th := range found {
			if ptrace.Now().Sub(n.tick.At) > n.tick.Period/longDiscovery {
				n.stops.yieldCPU() // too many to observe in time
			}
			n.observations.observe(th)
		}
		if n.counts.exitedAttempts() == ended {
			return
		}
		n.creations.tick = -1
		p.Tail.ReadAt = 0
	}
}

func (n *newThreads) find(p *target.Process, now ptrace.Moment) {
	list := &p.Threads
	creations := n.creations.countUntil(n.tick.Number)
	if creations == p.Tail.Creations || now.Sub(p.Tail.ReadAt) < time.Duration(list.Listed())*skipCost*skipShare {
		return
	}
	there, err := p.TaskDir.Count()
	if p.ClockDue(now) {
		p.ReadClockAt(now, err == nil && there > 0)
	}
	if err != nil || p.Clock.Valid && now.Sub(p.Clock.ChangedAt) > stillFor {
		return
	}
	p.Tail = target.ThreadListTail{ReadAt: now, Creations: creations}
	for back := firstTail; ; back *= 8 {
		from := max(there-back, 0)
		tids, err := n.readTail(p.TaskDir, from, n.tids[:0])
		n.tids = tids
		if err != nil {
			return
		}
		if from == 0 || len(tids) > 0 && list.Knows(tids[0]) {
			break
		}
	}
	for _, tid := range n.tids {
		if !list.Knows(tid) {
			if th := n.tracked.discover(p, tid, now); th != nil {
				list.AddListed(tid)
			}
		}
	}
}

// taskCreations counts the ticks before which a task was created on this machine.
type taskCreations struct {
	file  *procmem.PIDCounter // nil means that each tick counts
	count int64
	tick  int64
}

func (c *taskCreations) countUntil(tick int64) int64 {
	if tick != c.tick {
		c.tick = tick
		if c.file == nil || c.file.Advanced() {
			c.count++
		}
	}
	return c.count
}

func (c *taskCreations) close() {
	if c.file != nil {
		c.file.Close()
	}
}
