// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/quota"
	"prywalk/internal/runstats"
)

// # CPU quotas
//
// In a control group with a CPU quota prywalk stands still when that is used up, and a thread that it has just stopped
// stands still with it. So nobody is looked at while what is left of the period is not surely enough (package quota).
// And the rate is lowered to what half of the quota pays for. Where prywalk is alone in the group, all of its threads
// are put on one processor. The kernel hands the quota to processors in slices, and one that has none stands still
// though another has some left. It is another one after some periods, so that whoever runs there is looked at, too. A
// real-time priority is above quotas.
//
// A thread that stops late could do so when the quota has been used up. So only threads that are on a processor are
// asked to stop. Should one of them leave it just then, the accountant waits, and the tracer sleeps, until it has
// stopped.

// throttledFrom is from which length on, in nanoseconds, it is asked whether a freeze fell into a time in which the
// group stood still.
const throttledFrom = 1e6

// leastQuotaRate is the lowest rate that a quota leads to, in ticks a second.
const leastQuotaRate = 1

// underQuota keeps the tracer within a quota. Nil is none; its methods allow everything then.
type underQuota struct {
	guard *quota.Guard
	meter *quota.Meter
	alone bool // what prywalk uses is what the group uses
	all   unix.CPUSet
	at    int   // the processor of all, −1 if there are several
	moved int64 // the period in which they came there
	last  quota.Sample
	first quota.Sample
	used  int64 // as it was last read
	cost  float64
	since int64 // used at the last tick
	// withheld counts ticks at which nobody was looked at.
	withheld int64
	// throttled counts freezes of more than throttledFrom in which the group stood still.
	throttled int64
}

// newUnderQuota finds the tightest quota that can be measured; nil if there is none, or it does not matter.
func newUnderQuota(limits []quota.Limit, scheduling string) *underQuota {
	if scheduling == "fifo" {
		return nil
	}
	for _, l := range limits {
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
	u := &underQuota{meter: m, alone: l.Alone(), at: -1}
	s, err := m.Read()
	if err != nil || !u.alone && s.Used < 0 {
		m.Close()
		return nil
	}
	u.last, u.first = s, s
	kept, processors := 0, runtime.NumCPU()
	if unix.SchedGetaffinity(0, &u.all) == nil && u.alone && l.Share() <= 1 && u.pin() {
		kept, processors = min(u.all.Count()-1, 1), 1
	}
	u.guard = quota.NewGuard(l, processors, kept, s, u.usedNow(s))
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
	if u.guard.Left(u.used) >= u.guard.Needs(int64(u.cost)) {
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
	return u.guard.Left(u.used) >= u.guard.Needs(0)/2
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
	var st procmem.Stat
	return procmem.ReadStat(unix.Gettid(), &st) == nil && st.Processor >= 0 && u.put(st.Processor)
}

// put puts all threads of this process on a processor.
func (u *underQuota) put(cpu int) bool {
	var one unix.CPUSet
	one.Set(cpu)
	if !onAllThreads(&one) {
		return false
	}
	u.at, u.moved = cpu, u.last.Periods
	return true
}

// movesAfter is after how many periods of the quota all threads of this process are put on the next processor.
const movesAfter = 4

// moves puts them there, if it is time to, and nobody has been asked to stop. It reports whether it did.
func (u *underQuota) moves(waiting int) bool {
	if u == nil || u.at < 0 || waiting > 0 || u.last.Periods-u.moved < movesAfter || u.all.Count() < 2 {
		return false
	}
	next := u.at + 1
	for ; !u.all.IsSet(next % maxCPUs); next++ {
	}
	return u.put(next % maxCPUs)
}

// maxCPUs is how many processors a set has room for.
const maxCPUs = 1024

// careful reports whether only threads on a processor are to be asked to stop. With a single one, that is the tracer's.
func (u *underQuota) careful() bool { return u != nil && u.all.Count() > 1 }

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
	if u.at >= 0 {
		onAllThreads(&u.all)
	}
}

// stats tells what there was.
func (u *underQuota) stats() (s runstats.OwnQuota) {
	if u == nil {
		return s
	}
	if now, err := u.meter.Read(); err == nil {
		s.Throttled = seconds(now.ThrottledFor - u.first.ThrottledFor)
	}
	s.Quota, s.QuotaWithheld, s.FreezesThrottled = u.guard.Limit().Share(), u.withheld, u.throttled
	u.meter.Close()
	return s
}
