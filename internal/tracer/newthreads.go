// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
)

// newThreads finds threads created since the last tick, at the end of a process's list, and observes them before all
// others: otherwise the beginnings of threads would be under-represented.
type newThreads struct {
	*state
	creations    *taskCreations
	stops        *stops
	tracked      *tracked
	observations *observations
	tids         []int
	aroundRead   func() // for tests: called before and after a list is read
}

const (
	// To return the end of a list, the kernel goes through the threads before it, up to skipCost ns each, for at most
	// one part in skipShare of the time.
	skipCost  = 20
	skipShare = 64
	// firstTail is the length of the first list.
	firstTail = 8
	// A process whose clock is unchanged for stillFor ns (more than a scheduler tick) starts no thread.
	stillFor = 20e6
	// maxListings bounds the listings of a process in one tick.
	maxListings = 3
	// The tracer yields its CPU in a discovery longer than one part in longDiscovery of a period.
	longDiscovery = 4
)

// taskCreations counts the ticks before which a task was created on this machine.
type taskCreations struct {
	file  *procmem.PIDCounter // nil if unknown: then each tick counts
	count int64
	tick  int64
}

func openTaskCreations() *taskCreations {
	file, _ := procmem.OpenPIDCounter() // on error each tick counts
	return &taskCreations{file: file}
}

func (b *taskCreations) countUntil(tick int64) int64 {
	if tick != b.tick {
		b.tick = tick
		if b.file == nil || b.file.Advanced() {
			b.count++
		}
	}
	return b.count
}

func (b *taskCreations) forget() { b.tick = -1 }

// last returns the newest task ID as of this tick, 0 if unknown.
func (b *taskCreations) last() int {
	if b.file == nil {
		return 0
	}
	return b.file.Last()
}

func (b *taskCreations) close() {
	if b.file != nil {
		b.file.Close()
	}
}

// observe reads the list once more if a new thread has ended meanwhile.
func (n *newThreads) observe(p *process, now int64) {
	if !p.list.everListed {
		return
	}
	for range maxListings {
		before := len(p.backoff.Due)
		gone := n.counts.failed[refusal.Gone]
		n.find(p, now)
		found := p.backoff.Due[before:]
		if len(found) == 0 {
			return
		}
		for _, t := range found {
			th := ownerOf(t)
			th.observedEarlyAt = n.Tick.Number
			if procmem.Now()-n.Tick.At > n.Tick.Period/longDiscovery {
				n.stops.yieldCPU() // too many to observe in time
			}
			n.observations.observe(th)
		}
		if n.counts.failed[refusal.Gone] == gone {
			return
		}
		n.creations.forget()
		p.list.tailReadAt = 0
	}
}

func (n *newThreads) find(p *process, now int64) {
	list := &p.list
	creations := n.creations.countUntil(n.Tick.Number)
	if creations == list.creations || now-list.tailReadAt < int64(len(list.tids))*skipCost*skipShare {
		return
	}
	there, err := p.TaskDir.Count()
	if p.clockDue(now) {
		p.readClockAt(now, err == nil && there > 0)
	}
	if err != nil || p.Clock.Valid && now-p.Clock.ChangedAt > stillFor {
		return
	}
	list.creations = creations
	list.tailReadAt = now
	for back := firstTail; ; back *= 8 {
		from := max(there-back, 0)
		n.callTestHook()
		tids, err := p.TaskDir.ListFrom(from, n.tids[:0])
		n.callTestHook()
		n.tids = tids
		if err != nil {
			return
		}
		if from == 0 || len(tids) > 0 && list.knows(tids[0]) {
			break
		}
	}
	for _, tid := range n.tids {
		if !list.knows(tid) {
			n.track(p, tid, now)
		}
	}
}

func (n *newThreads) track(p *process, tid int, now int64) {
	if th := n.tracked.discover(p, tid, now); th != nil {
		th.listGeneration = p.list.generation
		p.list.tids = append(p.list.tids, tid)
	}
}

func (n *newThreads) callTestHook() {
	if n.aroundRead != nil {
		n.aroundRead()
	}
}
