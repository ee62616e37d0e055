package sampler

import (
	"slices"
	"time"

	"prywalk/internal/procmem"
)

// # What was not observed
//
// A look stands for the time since the thread's last one. That holds while ticks come about as they are asked for.
// Where prywalk itself did not get to look for long (it was stopped, it got no processor, it collected garbage, the
// accountant was far behind), the first look after that would be charged with all of it. So such a gap is not
// observed: what a thread used in it, by its own clocks, is booked under [NotObserved], and one usual distance between
// two ticks stays with the look. A thread that turns out not to have run since its last look was observed all the
// same. Ticks that a budget withholds are no gap, nor is a rate that is lower than what was asked for, once it lasts:
// a gap is one against the usual distance of ticks lately.
//
// The controller alone decides what a gap is, here. The accountant knows of each thread up to when it was observed, and
// takes the part of the gaps since then ([gaps], [threadClock.skip]).

const (
	// fewTicks is how many usual distances between ticks may pass without a look.
	fewTicks = 4
	// leastGap is the shortest gap, in nanoseconds. Whoever waits for a busy processor waits for up to 150 ms now and
	// then (seen at start-up on two busy processors); such a tick is late, and its look stands for more than others.
	leastGap = 200e6
	// usualShare is how slowly the usual distance follows, in ticks.
	usualShare = 8
	// leastSleep is by how much Unix time must run ahead of CLOCK_MONOTONIC between two ticks before it is asked
	// whether the machine was suspended, in nanoseconds.
	leastSleep = 50e6
)

// watch notices when nobody looks. Times are CLOCK_MONOTONIC in nanoseconds.
type watch struct {
	beat   int64 // when it was last certain that somebody looks
	ticked int64 // when the last tick began
	usual  int64 // how far ticks have been apart lately
	// What was not observed so far: gaps, their sum and the longest.
	gaps, total, longest int64

	ahead     int64 // by how much Unix time was ahead at the last tick
	suspended int64 // for how long the machine has been suspended since its boot
	slept     int64 // and since sampling began
}

// start begins to watch.
func (w *watch) start(now, suspended int64) {
	*w = watch{beat: now, ahead: time.Now().UnixNano() - now, suspended: suspended}
}

// tick takes note of a tick's beginning, with the period asked for at present. One that is withheld on purpose counts.
func (w *watch) tick(now, period int64) {
	if w.ticked != 0 {
		apart := min(now-w.ticked, fewTicks*w.usual)
		w.usual += (apart - w.usual) / usualShare
	}
	w.ticked, w.usual = now, max(w.usual, period)
}

// patience is how long nobody may look before that is a gap.
func (w *watch) patience() int64 { return max(fewTicks*w.usual, leastGap) }

// since gives the gap that has ended at a moment at which somebody looks: where it began and its length, 0 if there
// was none.
func (w *watch) since(now int64) (from, length int64) {
	if w.usual == 0 || now-w.beat <= w.patience() {
		return 0, 0
	}
	from, length = w.beat, now-w.beat-w.usual
	w.beat = now
	w.gaps++
	w.total += length
	w.longest = max(w.longest, length)
	return from, length
}

// wokeUp gives for how long the machine was suspended since the last call, 0 if it was not. CLOCK_MONOTONIC stands
// still meanwhile, as the threads' clocks do, and so does nobody's time pass; Unix time goes on. suspended, which asks
// the kernel, is called only where that has run ahead: somebody may have set it.
func (w *watch) wokeUp(now, unix int64, suspended func() int64) (slept int64) {
	ahead := unix - now
	moved := ahead - w.ahead
	w.ahead = ahead
	if moved < leastSleep {
		return 0
	}
	all := suspended()
	if slept = all - w.suspended; slept < leastSleep {
		return 0
	}
	w.suspended = all
	w.slept += slept
	return slept
}

// alive takes note that threads are looked at now.
func (c *controller) alive(now int64) {
	c.unwatched(now)
	c.watch.beat = now
}

// unwatched tells the accountant of a gap, if one has ended now.
func (c *controller) unwatched(now int64) {
	if from, length := c.watch.since(now); length > 0 {
		c.out = append(c.out, event{kind: unwatched, at: Reading{Wall: from}, length: length})
	}
}

// awake tells the accountant if the machine was suspended since the last tick. What was seen before is settled first:
// it has other Unix times.
func (c *controller) awake(now int64) {
	slept := c.watch.wokeUp(now, time.Now().UnixNano(), procmem.Suspended)
	if slept == 0 {
		return
	}
	c.settleAll()
	c.out = append(c.out, event{kind: resumed, at: Reading{Wall: now}, length: slept})
}

// gap is a stretch of CLOCK_MONOTONIC of which so much was not observed, in nanoseconds.
type gap struct{ from, to, length int64 }

// mostGaps bounds how many gaps are told apart.
const mostGaps = 1024

// gaps are what was not observed, in the order of time.
type gaps []gap

// add appends a gap. Where there are too many, each two neighbours of the older half become one.
func (g *gaps) add(from, length int64) {
	if len(*g) >= mostGaps {
		g.merge(len(*g) / 4)
	}
	*g = append(*g, gap{from, from + length, length})
}

// merge makes one of each of the n oldest pairs.
func (g *gaps) merge(n int) {
	list := *g
	for i := range n {
		a, b := list[2*i], list[2*i+1]
		list[i] = gap{a.from, b.to, a.length + b.length}
	}
	*g = slices.Delete(list, n, 2*n)
}

// within gives how much of an interval was not observed.
func (g gaps) within(from, to int64) (length int64) {
	for i := len(g) - 1; i >= 0 && g[i].to > from; i-- {
		e := &g[i]
		if part := min(e.to, to) - max(e.from, from); part > 0 {
			length += portion(e.length, part, e.to-e.from)
		}
	}
	return length
}
