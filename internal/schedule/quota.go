// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/quota"
)

// # A CPU quota of prywalk's own
//
// A used-up CPU quota stops prywalk together with a thread that it has just stopped. So no tick begins unless enough of
// the period is left (package quota), and half of the quota limits the rate. A real-time priority is above quotas.
//
// Where prywalk is alone in the group, all of its threads use one processor: the kernel gives the quota to processors
// in slices. After movesAfter periods it is the next one.

const (
	// throttledFrom is the least length of a stop that may include a throttled time, ns.
	throttledFrom  = 1e6
	leastQuotaRate = 1 // ticks/s
	movesAfter     = 4
	maxCPUs        = 1024
)

// Quota keeps the sampling within a CPU quota. Nil: none, and all is allowed.
type Quota struct {
	guard *quota.Guard
	meter *quota.Meter
	alone bool // prywalk is alone in the group
	all   unix.CPUSet
	cpu   int          // the processor of all threads; −1: several
	moved int64        // the quota's period in which they were put there
	last  quota.Sample // last reading of the meter
	first quota.Sample
	used  int64   // CPU time of the group, ns
	since int64   // used as of the last tick, ns
	cost  float64 // mean CPU time between ticks, ns

	withheld  int64 // ticks
	throttled int64 // stops
}

// QuotaStats is the effect of a quota, as in [prywalk/internal/runstats.OwnQuota].
type QuotaStats struct {
	Quota          float64
	QuotaWithheld  int64
	Throttled      float64
	StopsThrottled int64
}

// NewQuota gives the tightest limit that can be measured; nil: none, or without effect (scheduling "fifo").
func NewQuota(limits []quota.Limit, scheduling string) *Quota {
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

func openQuota(l quota.Limit) *Quota {
	m, err := l.Open()
	if err != nil {
		return nil
	}
	u := &Quota{meter: m, alone: l.Alone(), cpu: -1}
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

func (u *Quota) usedNow(s quota.Sample) int64 {
	if !u.alone {
		u.used = s.Used
	} else if own, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		u.used = int64(own)
	}
	return u.used
}

func (u *Quota) read() {
	if u.alone && !u.guard.Asks(u.usedNow(u.last)) {
		return
	}
	if s, err := u.meter.Read(); err == nil {
		u.last = s
		u.guard.Note(s, u.usedNow(s))
	}
}

// MayTick reports whether a tick may begin, and counts those that may not.
func (u *Quota) MayTick() bool {
	if u == nil {
		return true
	}
	u.read()
	cost := float64(u.used - u.since)
	u.since = u.used
	u.cost += (cost - u.cost) / 16
	if u.guard.Left(u.used) >= u.guard.Needs(int64(u.cost)) {
		return true
	}
	u.withheld++
	return false
}

// MayObserve reports whether one more observation may begin in this tick.
func (u *Quota) MayObserve() bool {
	if u == nil {
		return true
	}
	if u.alone {
		u.usedNow(u.last)
	} else {
		u.read()
	}
	return u.guard.Left(u.used) >= u.guard.Needs(0)/2
}

// Rate lowers a rate to what the quota pays for.
func (u *Quota) Rate(asked float64) float64 {
	if u == nil || !u.alone {
		return asked
	}
	return max(min(asked, u.guard.Rate(u.cost)), leastQuotaRate)
}

// OwnPart gives prywalk's part of a stop of stopped ns. If the group has the target as well, that is without throttled
// time: the target would have been throttled without prywalk, too.
func (u *Quota) OwnPart(stopped int64) int64 {
	if u == nil || stopped < throttledFrom {
		return stopped
	}
	before := u.last.ThrottledFor
	s, err := u.meter.Read()
	if err != nil {
		return stopped
	}
	u.last = s
	u.guard.Note(s, u.usedNow(s))
	if s.ThrottledFor > before {
		u.throttled++
	}
	if u.alone {
		return stopped
	}
	return max(stopped-(s.ThrottledFor-before), 0)
}

func (u *Quota) pin() bool {
	var st procmem.Stat
	return procmem.ReadStat(unix.Gettid(), &st) == nil && st.Processor >= 0 && u.put(st.Processor)
}

func (u *Quota) put(cpu int) bool {
	var one unix.CPUSet
	one.Set(cpu)
	if !onAllThreads(&one) {
		return false
	}
	u.cpu, u.moved = cpu, u.last.Periods
	return true
}

// MoveIfDue puts all threads on the next processor if due, unless stops are pending. It reports whether it did.
func (u *Quota) MoveIfDue(waiting int) bool {
	if u == nil || u.cpu < 0 || waiting > 0 || u.last.Periods-u.moved < movesAfter || u.all.Count() < 2 {
		return false
	}
	next := u.cpu + 1
	for ; !u.all.IsSet(next % maxCPUs); next++ {
	}
	return u.put(next % maxCPUs)
}

// OnlyOnProcessors reports whether only threads that are on a processor may be stopped. With a single processor that is
// the tracer's, and all may.
func (u *Quota) OnlyOnProcessors() bool { return u != nil && u.all.Count() > 1 }

// onAllThreads restricts all threads of this process to the set; false if that failed.
func onAllThreads(set *unix.CPUSet) (done bool) {
	for range 2 {
		list, err := os.ReadDir("/proc/self/task")
		for _, e := range list {
			if tid, bad := strconv.Atoi(e.Name()); bad == nil && unix.SchedSetaffinity(tid, set) == nil {
				done = err == nil
			}
		}
	}
	return done
}

// Close restores all processors.
func (u *Quota) Close() {
	if u == nil {
		return
	}
	if u.cpu >= 0 {
		onAllThreads(&u.all)
	}
}

// Stats gives the effects. It is called once.
func (u *Quota) Stats() (s QuotaStats) {
	if u == nil {
		return s
	}
	if now, err := u.meter.Read(); err == nil {
		s.Throttled = float64(now.ThrottledFor-u.first.ThrottledFor) / 1e9
	}
	s.Quota, s.QuotaWithheld, s.StopsThrottled = u.guard.Limit().Share(), u.withheld, u.throttled
	u.meter.Close()
	return s
}
