package sampler

import (
	"sync"
	"sync/atomic"

	"prywalk/internal/look"
)

// published is a copy of the counts for other goroutines.
type published struct {
	mu       sync.Mutex
	counts   counts
	missed   int64
	withheld int64
	live     int
	stacks   atomic.Int64
	saving   atomic.Bool  // a checkpoint is asked for and not yet written
	saveTook atomic.Int64 // how long the last one took, ns

	telling  atomic.Bool  // the watcher is about to be told
	tellTook atomic.Int64 // how long that took, ns
	whole    atomic.Int64
}

func (p *published) set(c *tracer) {
	if !p.mu.TryLock() {
		return // the reader is at it; the next tick publishes again
	}
	p.counts = c.counts
	p.missed, p.withheld = c.ticks.Missed, c.budget.Withheld
	p.live = c.now.threads
	p.mu.Unlock()
}

// Progress is how far a run has come.
type Progress struct {
	Ticks, Missed, Looks, Failed int64
	Frozen                       int64 // of the looks
	Denied, Traced               int64 // of those that failed: the kernel refused them, another tracer held the thread
	Withheld                     int64 // ticks, by the budget
	Threads                      int
	Stacks, Complete             int64
}

func (p *published) progress() Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := Progress{
		Ticks: p.counts.ticks, Missed: p.missed, Threads: p.live,
		Looks:  p.counts.frozen + p.counts.peeked + p.counts.reused,
		Frozen: p.counts.frozen, Withheld: p.withheld,
		Stacks: p.stacks.Load(), Complete: p.whole.Load(),
	}
	g.Denied, g.Traced = p.counts.failed[look.ReasonDenied], p.counts.failed[look.ReasonTraced]
	for _, n := range p.counts.failed {
		g.Failed += n
	}
	return g
}
