package sampler

import "math/rand/v2"

// # Backing off
//
// A look at a thread that sleeps costs the thread nothing, but prywalk a read of a
// file under /proc. Where there are many, those that were found unchanged for long are
// looked at less often: so seldom that all of them take no more than one part in
// napShare of the time, but at least every longestNap on average, and never after less
// than one part in restShare of the time that the thread has been asleep for. Each nap
// is stretched or shortened at random, so that threads that fell asleep together do not
// fall due together. A thread that is found changed is looked at in every tick again.
//
// The threads' clocks are cumulative, and so is the count of arrivals on a processor:
// looking later loses none of their time. An unchanged count proves for all ticks since
// the last look that the stack was the same at them, and they are counted. A changed
// one ends an interval that is longer than usual: its processor time is all there, and
// goes where that of any interval goes. What is lost is which stack ran in the first
// part of a burst that follows a long sleep. So naps are short until it has shown that there
// are no such bursts: they get up to maxSlack times as long in a process whose clock moves while
// those who are backed off are found to have used next to nothing of it (see [slack]).
//
// The process's clock helps twice. Does it stand still, then nobody has left a
// processor, and who falls due is left asleep, but not beyond idleMost. Has it moved by
// more than the looks at the others explain, then one of those that are backed off has
// run, and all of them are looked at, as often as that takes no more than one part in
// stirShare of the time. The clock only says whom to look at. It proves nothing: the
// kernel books the time of a thread that runs at its own ticks
// (kernel/sched/cputime.c, thread_group_cputime, reads the threads' sums as they are),
// so that a thread that arrived on a processor a moment ago has not moved it yet. What is
// counted is proved by the thread's own count.
const (
	restShare = 16
	napShare  = 256
	// longestNap is the longest that a thread is left alone for on average, and
	// idleMost the longest in a process in which nobody runs, in nanoseconds.
	longestNap = 120e6
	idleMost   = 1e9
	// A look at a thread that has not changed takes about lookCost ns.
	lookCost  = 1000
	stirShare = 64
	// Naps get longer while no more than one part in slackShare of a process's time is that of
	// threads that were backed off, up to maxSlack times, or fewSlack in crowds of fewer than 470.
	slackShare = 1000
	maxSlack   = 16
	fewSlack   = 8
	// staleClock is by how much the clock of a process may lack the time of each
	// thread that runs, in nanoseconds: a scheduler tick.
	staleClock = 4e6
)

// napOf gives for how long a thread that was found unchanged is left alone, in
// nanoseconds; 0 if it is to be looked at in the next tick. threads is how many there
// are in all, slack how many times as long as at first it may be.
func napOf(asleep, period int64, threads int, slack int64, rng *rand.Rand) int64 {
	crowd := int64(threads) * lookCost * napShare
	if crowd < longestNap { // few are cheap to look at
		slack = min(slack, fewSlack)
	}
	nap := min(asleep/restShare, slack*min(longestNap, crowd))
	if nap < 2*period {
		return 0
	}
	return nap - nap/4 + rng.Int64N(nap/2)
}

// The wheel has a slot for each wheelGrain ns of the longest nap.
const (
	wheelGrain = 1e6
	wheelSlots = 4096
)

// wheel keeps the threads that are backed off by the time at which they fall due, so
// that a tick touches only those. It allocates nothing: the threads are linked.
type wheel struct {
	slots [wheelSlots]*thread
	at    int64 // the slot up to which all were taken, as a number since the epoch
	n     int   // threads in it
}

// put files a thread that falls due at a moment, not before the next turn.
func (w *wheel) put(th *thread, due int64) {
	at := min(max(due/wheelGrain, w.at+1), w.at+wheelSlots-1)
	slot := int(at % wheelSlots)
	n := &th.nap
	n.slot, n.prev, n.next, n.filed = slot, nil, w.slots[slot], true
	if n.next != nil {
		n.next.nap.prev = th
	}
	w.slots[slot] = th
	w.n++
}

// remove takes a thread out.
func (w *wheel) remove(th *thread) {
	n := &th.nap
	if n.prev != nil {
		n.prev.nap.next = n.next
	} else {
		w.slots[n.slot] = n.next
	}
	if n.next != nil {
		n.next.nap.prev = n.prev
	}
	n.prev, n.next, n.filed = nil, nil, false
	w.n--
}

// turn takes out all that fall due until now, and gives each to due, which may file
// it again.
func (w *wheel) turn(now int64, due func(*thread)) {
	to := now / wheelGrain
	var list *thread
	for at := max(w.at+1, to-wheelSlots+1); at <= to; at++ {
		for th := w.slots[at%wheelSlots]; th != nil; th = w.slots[at%wheelSlots] {
			w.remove(th)
			th.nap.next, list = list, th
		}
	}
	w.at = max(w.at, to)
	for list != nil {
		th := list
		list, th.nap.next = th.nap.next, nil
		due(th)
	}
}
