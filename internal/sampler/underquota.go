package sampler

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/quota"
)

// # CPU quotas
//
// In a control group with a CPU quota prywalk stands still when that is used up, and a thread that it has just stopped
// stands still with it. So nobody is looked at while what is left of the period is not surely enough (package quota),
// and the rate is lowered to what half of the quota pays for. Where prywalk is alone in the group, all of its threads
// are put on one processor: the kernel hands the quota to processors in slices, and one that has none stands still
// though another has some left. A real-time
// priority is above quotas.
//
// A thread that waits for a processor stops when it is scheduled, which can take longer than a period. What was left
// when it was asked to says little then. So tracer and accountant take turns: nobody is looked at while the accountant
// works, and it gets nothing to do while a look is under way.

// throttledFrom is from which length on, in nanoseconds, it is asked whether a freeze fell into a time in which the
// group stood still.
const throttledFrom = 1e6

// leastQuotaRate is the lowest rate that a quota leads to, in ticks a second.
const leastQuotaRate = 1

// underQuota keeps the tracer within a quota. Nil is none; its methods allow everything then.
type underQuota struct {
	guard *quota.Guard
	meter meter
	alone bool // what prywalk uses is what the group uses
	all   unix.CPUSet
	last  quota.Sample
	first quota.Sample
	used  int64 // as it was last read
	cost  float64
	since int64 // used at the last tick
	// withheld counts ticks at which nobody was looked at.
	withheld int64
	// throttled counts freezes of more than throttledFrom in which the group stood still.
	throttled int64
	turns     turns
}

// meter says what the kernel tells of the group.
type meter interface {
	Read() (quota.Sample, error)
	Close()
}

// turns are the tracer's and the accountant's.
type turns struct {
	clock func() int64         // CLOCK_MONOTONIC, ns
	busy  func() bool          // the accountant has something to do
	under func() int           // how many looks are under way
	due   func(now int64) bool // there is something for the accountant
	since int64                // the beginning of the tracer's turn, CLOCK_MONOTONIC ns; 0: it has not begun
}

const (
	// turnFor is for how long looks are begun in a turn, in nanoseconds; then those under way are waited for.
	turnFor = 25e6
	// turnMost is how long a turn is at most. Who has not stopped by then may not for long, and the accountant goes on.
	turnMost = 250e6
)

// mayBegin reports whether one more look may begin.
func (t *turns) mayBegin() bool {
	if t.busy == nil {
		return true
	}
	if t.busy() {
		t.since = 0
		return false
	}
	now := t.clock()
	if over := now-t.since >= turnFor; t.since == 0 || over && t.under() == 0 && !t.due(now) {
		t.since = now
	}
	return now-t.since < turnFor
}

// hold reports whether the accountant is to get nothing yet.
func (t *turns) hold() bool {
	if t.under() > 0 && t.since != 0 && t.clock()-t.since < turnMost {
		return true
	}
	t.since = 0 // the tracer's turn is over
	return false
}

// take makes tracer and accountant take turns. Looks that were given up are none that are under way.
func (u *underQuota) take(c *tracer, pub *published) {
	if u == nil {
		c.out.hold = nil
		return
	}
	u.turns.clock = procmem.Now
	u.turns.busy = func() bool { return c.out.ring.waits() || pub.saving.Load() || pub.telling.Load() }
	u.turns.under, u.turns.due = c.looker.Waiting, c.out.due
	c.out.hold = u.turns.hold
}

// newUnderQuota finds the tightest quota that can be measured; nil if there is none, or it does not matter.
func newUnderQuota(root quota.Root, scheduling string) *underQuota {
	if scheduling == "fifo" {
		return nil
	}
	for _, l := range root.Limits() {
		if u := openQuota(l); u != nil {
			return u
		}
	}
	return nil
}

// openQuota begins to keep within a quota; nil if it cannot be told what is left of it.
func openQuota(l quota.Limit) *underQuota {
	m, err := l.Open()
	if err != nil {
		return nil
	}
	u := &underQuota{meter: m, alone: l.Alone()}
	s, err := m.Read()
	if err != nil || !u.alone && s.Used < 0 {
		m.Close()
		return nil
	}
	u.last, u.first = s, s
	processors := runtime.NumCPU()
	if u.alone && l.Share() <= 1 && u.pin() {
		processors = 1
	}
	u.guard = quota.NewGuard(l, processors, s, u.usedNow(s))
	u.since = u.used
	return u
}

// usedNow gives what the group has used.
func (u *underQuota) usedNow(s quota.Sample) int64 {
	if !u.alone {
		u.used = s.Used
	} else if own, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		u.used = int64(own)
	}
	return u.used
}

// lostUnderQuota gives the function that tells for how long this thread was ready to run but had no processor: because
// others had it, or because the group stood still. If a kernel counts the second among the first, it is too much.
func (c *tracer) lostUnderQuota(own *procmem.ThreadFiles) func() int64 {
	return func() int64 {
		s, err := own.SchedStat()
		if err != nil {
			return 0
		}
		return int64(s.RunQueue) + c.quota.stoodStill()
	}
}

// stoodStill gives for how long the group has stood still, in nanoseconds.
func (u *underQuota) stoodStill() int64 {
	if u == nil {
		return 0
	}
	s, err := u.meter.Read()
	if err != nil {
		return 0
	}
	return s.ThrottledFor
}

// ask brings what is known up to date. Where prywalk is alone, mostly its own clock is enough.
func (u *underQuota) ask() {
	if u.alone && !u.guard.Asks(u.usedNow(u.last)) {
		return
	}
	if s, err := u.meter.Read(); err == nil {
		u.last = s
		u.guard.Told(s, u.usedNow(s))
	}
}

// enough reports whether a tick may begin.
func (u *underQuota) enough() bool {
	if u == nil {
		return true
	}
	u.ask()
	cost := float64(u.used - u.since)
	u.since = u.used
	u.cost += (cost - u.cost) / 16
	if u.guard.Left(u.used) >= u.guard.Needs(int64(u.cost)) && u.turns.mayBegin() {
		return true
	}
	u.withheld++
	return false
}

// goesOn reports whether one more look may begin in this tick.
func (u *underQuota) goesOn() bool {
	if u == nil {
		return true
	}
	if u.alone {
		u.usedNow(u.last)
	} else {
		u.ask()
	}
	return u.guard.Left(u.used) >= u.guard.Needs(0)/2 && u.turns.mayBegin()
}

// rate lowers a rate to what the quota pays for.
func (u *underQuota) rate(asked float64) float64 {
	if u == nil || !u.alone {
		return asked // what the others of the group use does not depend on it
	}
	return max(min(asked, u.guard.Rate(u.cost)), leastQuotaRate)
}

// ownPart gives what of a freeze was prywalk's doing: not the time in which the whole group stood still, the target
// among it or not.
func (u *underQuota) ownPart(stopped int64) int64 {
	if u == nil || stopped < throttledFrom {
		return stopped
	}
	before := u.last.ThrottledFor
	s, err := u.meter.Read()
	if err != nil {
		return stopped
	}
	u.last = s
	u.guard.Told(s, u.usedNow(s))
	if s.ThrottledFor > before {
		u.throttled++
	}
	if u.alone {
		return stopped // the target was not among those that stood still
	}
	return max(stopped-(s.ThrottledFor-before), 0)
}

// pin puts all threads of this process on the processor that this one is on; those that come inherit it.
func (u *underQuota) pin() bool {
	if unix.SchedGetaffinity(0, &u.all) != nil {
		return false
	}
	var st procmem.Stat
	if procmem.ReadStat(unix.Gettid(), &st) != nil || st.Processor < 0 {
		return false
	}
	var one unix.CPUSet
	one.Set(st.Processor)
	return onAllThreads(&one)
}

// onAllThreads lets all threads of this process run on some processors only; false if none could be asked.
func onAllThreads(set *unix.CPUSet) (done bool) {
	for range 2 { // one that was started meanwhile by a thread that was not asked yet
		list, err := os.ReadDir("/proc/self/task")
		for _, e := range list {
			if tid, bad := strconv.Atoi(e.Name()); bad == nil && unix.SchedSetaffinity(tid, set) == nil {
				done = err == nil
			}
		}
	}
	return done
}

// close ends it: writing the recording may use all processors.
func (u *underQuota) close() {
	if u == nil {
		return
	}
	if u.all.Count() > 0 {
		onAllThreads(&u.all)
	}
}

// tell puts into the result what there was.
func (u *underQuota) tell(r *Stats) {
	if u == nil {
		return
	}
	if s, err := u.meter.Read(); err == nil {
		r.Throttled = seconds(s.ThrottledFor - u.first.ThrottledFor)
	}
	r.Quota, r.QuotaWithheld, r.FreezesThrottled = u.guard.Limit().Share(), u.withheld, u.throttled
	u.meter.Close()
}
