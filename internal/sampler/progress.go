package sampler

import (
	"sync"
	"sync/atomic"

	"prywalk/internal/booking"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
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

// # Who watches
//
// A watcher gets each interval when it is final. A sleeper's may take days, so that it is also told what goes on. For
// that nobody is looked at: the tracer tells which threads it has found unchanged, as for a checkpoint. What is open is
// told and stays open, so that a recording beside it has the intervals that it has without.

// tellPart bounds what telling the watcher takes of the accountant's time.
const tellPart = 200

// refreshDue reports whether the watcher is to be told what goes on.
func (c *tracer) refreshDue(now int64, p *published) bool {
	every := int64(c.opts.WatchEvery)
	if c.opts.Watch == nil || every <= 0 || p.telling.Load() {
		return false
	}
	if c.told == 0 {
		c.told = now
	}
	return now-c.told >= max(every, tellPart*p.tellTook.Load())
}

// askRefresh asks for the watcher to be told, with everything up to now.
func (c *tracer) askRefresh(now int64) {
	c.tellUnchanged()
	c.out.add(event{kind: refreshAsked, at: now})
	c.out.handOver(c.now.at) // or after a later tick, if the accountant is far behind
	c.told = now
}

// refresh tells the watcher what goes on.
func (a *accountant) refresh(at int64) {
	began := procmem.Now()
	if a.watch != nil {
		a.watch.Refresh(a.unix.Of(at), a.goesOn)
	}
	a.pub.tellTook.Store(procmem.Now() - began)
	a.pub.telling.Store(false)
}

// goesOn gives the spans that are open, as intervals. The accounts stay as they are.
func (a *accountant) goesOn(yield func(profile.Interval) bool) {
	for th := range a.threads {
		more := true
		th.book.Open(func(s booking.Span) { more = yield(a.interval(th.proc, th, &s)) })
		if !more {
			return
		}
	}
}
