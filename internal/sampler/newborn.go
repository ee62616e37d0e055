package sampler

import "prywalk/internal/procmem"

// # Newborn threads
//
// A thread that is born between two ticks must be met at the next one: what it does first would else be missing from
// the shares. Its process's threads need not be listed for that. Whether any task was born the kernel says in one
// read, for the whole machine, and the youngest threads stand at the list's end.
const (
	// The kernel passes over a thread in up to skipCost ns; passing over all of a process may take one part in
	// skipShare of the time.
	skipCost  = 20
	skipShare = 64
	// firstTail is how many of the last threads are listed first. If none of them is known, more are.
	firstTail = 8
	// A process whose clock has stood still for stillFor ns starts no thread: more than a scheduler's tick, by which
	// the clock can lag.
	stillFor = 20e6
)

// births counts the moments at which tasks had been born since it was asked before. It is asked once a tick at most,
// and only on behalf of processes that could have started one.
type births struct {
	file  *procmem.Births // nil: not known, and each tick may have some
	count int64
	tick  int64 // at which it was asked last
	tids  []int // of the youngest threads
}

func (b *births) close() {
	if b.file != nil {
		b.file.Close()
	}
}

// at gives the count as of a tick.
func (b *births) at(tick int64) int64 {
	if tick != b.tick {
		if b.tick = tick; b.file == nil || b.file.Any() {
			b.count++
		}
	}
	return b.count
}

// meetNewborn takes the threads on that were born since a process's threads were last listed. there is how many it has.
func (c *tracer) meetNewborn(p *process, there int, now int64) {
	l := &p.list
	if !l.begun || now-l.youngest < int64(there)*skipCost*skipShare || p.clock.valid && now-p.clock.moved > stillFor {
		return
	}
	births := c.births.at(c.counts.ticks)
	if births == l.births {
		return
	}
	l.births, l.youngest = births, now
	for back := firstTail; ; back *= 8 {
		from := max(there-back, 0)
		tids, err := l.tasks.ListFrom(from, c.births.tids[:0])
		c.births.tids = tids
		if err != nil {
			return
		}
		if from == 0 || len(tids) > 0 && l.knows(tids[0]) {
			break
		}
	}
	for _, tid := range c.births.tids {
		if l.knows(tid) {
			continue
		}
		if th := c.meet(p, tid, now); th != nil {
			th.listing = l.n
			l.tids = append(l.tids, tid)
		}
	}
}

// knows reports whether a thread was taken on or refused.
func (l *threadList) knows(tid int) bool {
	if l.byTID[tid] != nil {
		return true
	}
	_, refused := l.unwanted[tid]
	return refused
}
