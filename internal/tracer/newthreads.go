// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/procmem"
)

// newThreads finds threads created since the last tick, at the end of a process's list, and observes them before all
// others: otherwise the beginnings of threads would be under-represented.
type newThreads struct {
	tick         *engine.Tick
	pace         *pace
	creations    *taskCreations
	counts       *counts
	stops        *stops
	tracked      *tracked
	observations *observations
	readTail     func(dir *procmem.TaskDir, from int, into []int) ([]int, error) // as [procmem.TaskDir.ListFrom]
	tids         []int                                                           // the last tail
}

const (
	skipCost  = 20 // to return the end of a list, the kernel goes through the threads before it, for up to each ns
	skipShare = 64 // this takes at most one part in skipShare of the time
	// firstTail is the length of the first list.
	firstTail = 8
	// A process whose clock is unchanged for stillFor ns (more than a scheduler tick) starts no thread.
	stillFor = 20e6
	// maxListings bounds the listings of a process in one tick.
	maxListings = 3
	// The tracer yields its CPU in a discovery longer than one part in longDiscovery of a period.
	longDiscovery = 4
)

// threadListTail is the last read of the end of a process's list.
type threadListTail struct {
	readAt    int64 // CLOCK_MONOTONIC ns
	creations int64 // taskCreations.count then
}

// observeUnsampled observes the new threads of processes whose running threads no engine samples: they are stopped.
// Where a tick observes a part of the threads, it only finds the new ones of all processes.
func (n *newThreads) observeUnsampled(now int64) {
	drawing := n.pace.drawsSubset()
	for _, p := range n.tracked.processes() {
		switch {
		case !p.list.knowsStart():
		case drawing:
			n.find(p, now)
		case !p.engineObserves():
			n.observe(p, now)
		}
	}
}

// observeSampled observes the new threads of processes whose running threads an engine samples.
func (n *newThreads) observeSampled(now int64) {
	if n.pace.drawsSubset() {
		return
	}
	for _, p := range n.tracked.processes() {
		if p.list.knowsStart() && p.engineObserves() {
			n.observe(p, now)
		}
	}
}

// observe observes the new threads of a process, and reads the list once more if one of them has ended meanwhile.
func (n *newThreads) observe(p *process, now int64) {
	for range maxListings {
		before := len(p.backoff.Due)
		ended := n.counts.ended()
		n.find(p, now)
		found := p.backoff.Due[before:]
		if len(found) == 0 {
			return
		}
		for _, t := range found {
			th := ownerOf(t)
			if procmem.Now()-n.tick.At > n.tick.Period/longDiscovery {
				n.stops.yieldCPU() // too many to observe in time
			}
			n.observations.observe(th)
		}
		if n.counts.ended() == ended {
			return
		}
		n.creations.forget()
		p.tail.readAt = 0
	}
}

// find tracks the threads at the end of a process's list that are not known, if a task was created since the last read.
func (n *newThreads) find(p *process, now int64) {
	list := &p.list
	creations := n.creations.countUntil(n.tick.Number)
	if creations == p.tail.creations || now-p.tail.readAt < int64(list.listed())*skipCost*skipShare {
		return
	}
	there, err := p.TaskDir.Count()
	if p.clockDue(now) {
		p.readClockAt(now, err == nil && there > 0)
	}
	if err != nil || p.Clock.Valid && now-p.Clock.ChangedAt > stillFor {
		return
	}
	p.tail = threadListTail{readAt: now, creations: creations}
	for back := firstTail; ; back *= 8 {
		from := max(there-back, 0)
		tids, err := n.readTail(p.TaskDir, from, n.tids[:0])
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
			if th := n.tracked.discover(p, tid, now); th != nil {
				list.addListed(tid)
			}
		}
	}
}
