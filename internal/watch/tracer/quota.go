// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/procmem"
)

// # A CPU quota of prywalk's own
//
// A used-up CPU quota stops prywalk, and with it a thread that it has just stopped. So no tick begins unless enough of
// the period is left (package cgroup), and if prywalk is alone in the group, half of the quota limits the rate.
// Quotas do not apply to a real-time priority.
//
//	cgroup.CPUQuota           a group's quota
//	cgroup.QuotaGuard         what is left of its period
//	quota                     admits ticks and observations, bounds the rate, and moves prywalk to another CPU
//	observe.Observer          stops only threads on a CPU ([quota.mustStopOnlyOnCPU])
//	target.CPUQuotaGate     holds the aggregator up while a stop is pending

const (
	// throttledFrom is the least length of a stop that may include throttled time.
	throttledFrom = time.Millisecond
	minQuotaRate  = 1 // ticks/s
)

// quota keeps the sampling within a CPU quota. A nil quota permits everything.
type quota struct {
	guard          *cgroup.QuotaGuard
	meter          *cgroup.Meter
	alone          bool // prywalk was alone in the group at the start
	allCPUs        unix.CPUSet
	onlyCPU        int   // of all threads, −1 if several
	movedIn        int64 // quota's period of the last move
	last           cgroup.CPUStat
	groupCPU       time.Duration
	groupCPUAtTick time.Duration
	meanCost       float64 // CPU time between ticks, ns

	withheld  int64 // ticks
	throttled int64 // stops
}

// newQuota returns the tightest limit that can be measured; nil means none, or it has no effect ("fifo").
func newQuota(limits []cgroup.CPUQuota, scheduling string) *quota {
	if scheduling == "fifo" {
		return nil
	}
	for _, l := range limits {
		if q := openQuota(l); q != nil {
			return q
		}
	}
	return nil
}

func openQuota(l cgroup.CPUQuota) *quota {
	m, err := l.Open()
	if err != nil {
		return nil
	}
	q := &quota{meter: m, alone: l.Alone(), onlyCPU: -1}
	s, err := m.Read()
	if err != nil || !q.alone && s.Used < 0 {
		m.Close()
		return nil
	}
	q.last = s
	kept := 0
	cpus := runtime.NumCPU()
	if unix.SchedGetaffinity(0, &q.allCPUs) == nil && q.alone && l.Share() <= 1 && q.pinToCurrentCPU() {
		kept = min(q.allCPUs.Count()-1, 1)
		cpus = 1
	}
	q.guard = cgroup.NewQuotaGuard(l, cpus, kept, s, q.updateGroupCPU(s))
	q.groupCPUAtTick = q.groupCPU
	return q
}

func (q *quota) updateGroupCPU(s cgroup.CPUStat) time.Duration {
	if !q.alone {
		q.groupCPU = s.Used
	} else if own, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		q.groupCPU = time.Duration(own)
	}
	return q.groupCPU
}

func (q *quota) read() {
	if q.alone && !q.guard.ShouldQuery(q.updateGroupCPU(q.last)) {
		return
	}
	q.query()
}

func (q *quota) query() {
	if s, err := q.meter.Read(); err == nil {
		q.last = s
		q.guard.Update(s, q.updateGroupCPU(s))
	}
}

// admitTick reports whether a tick may begin. It counts those that may not.
func (q *quota) admitTick() bool {
	if q == nil {
		return true
	}
	q.read()
	cost := float64(q.groupCPU - q.groupCPUAtTick)
	q.groupCPUAtTick = q.groupCPU
	q.meanCost += (cost - q.meanCost) / 16
	if q.guard.Left(q.groupCPU) >= q.guard.MinLeft(time.Duration(q.meanCost)) {
		return true
	}
	q.withheld++
	return false
}

// admitObservation reports whether one more observation may begin in this tick.
func (q *quota) admitObservation() bool {
	if q == nil {
		return true
	}
	if q.alone {
		q.updateGroupCPU(q.last)
	} else {
		q.read()
	}
	return q.guard.Left(q.groupCPU) >= q.guard.MinLeft(0)/2
}

// rate lowers a rate to what the quota permits.
func (q *quota) rate(asked float64) float64 {
	if q == nil || !q.alone {
		return asked
	}
	return max(min(asked, q.guard.Rate(q.meanCost)), minQuotaRate)
}

// ownPart returns a stop's length, without throttled time if the target is in the group, too.
func (q *quota) ownPart(stopped time.Duration) time.Duration {
	if q == nil || stopped < throttledFrom {
		return stopped
	}
	before := q.last.ThrottledFor
	q.query()
	if q.last.ThrottledFor > before {
		q.throttled++
	}
	if q.alone {
		return stopped
	}
	return max(stopped-(q.last.ThrottledFor-before), 0)
}

// mustStopOnlyOnCPU reports whether only threads on a CPU may be stopped; with a single CPU all may.
func (q *quota) mustStopOnlyOnCPU() bool { return q != nil && q.allCPUs.Count() > 1 }

// close restores all CPUs and closes the files.
func (q *quota) close() {
	if q == nil {
		return
	}
	if q.onlyCPU >= 0 {
		setAffinityOfAllThreads(&q.allCPUs)
	}
	q.meter.Close()
}

// stats returns the effects so far.
func (q *quota) stats() (stats runstats.OwnQuota) {
	if q == nil {
		return stats
	}
	stats.Quota = q.guard.Quota().Share()
	stats.TicksWithheldByQuota = q.withheld
	stats.StopsThrottled = q.throttled
	return stats
}

// # The CPU under a quota
//
// The kernel gives CPUs the quota in slices. If prywalk is alone in a group of at most one CPU, all of its threads use
// one, and move to the next after periodsOnCPU periods.

const (
	periodsOnCPU = 4
	maxCPUs      = 1024
)

func (q *quota) pinToCurrentCPU() bool {
	var st procmem.Stat
	return procmem.ReadStat(unix.Gettid(), &st) == nil && st.Processor >= 0 && q.pinTo(st.Processor)
}

func (q *quota) pinTo(cpu int) bool {
	var one unix.CPUSet
	one.Set(cpu)
	if !setAffinityOfAllThreads(&one) {
		return false
	}
	q.onlyCPU = cpu
	q.movedIn = q.last.Periods
	return true
}

// moveIfDue moves all threads to the next CPU if due and no stops are pending.
func (q *quota) moveIfDue(waiting int) bool {
	if q == nil || q.onlyCPU < 0 || waiting > 0 || q.last.Periods-q.movedIn < periodsOnCPU || q.allCPUs.Count() < 2 {
		return false
	}
	next := q.onlyCPU + 1
	for ; !q.allCPUs.IsSet(next % maxCPUs); next++ {
	}
	return q.pinTo(next % maxCPUs)
}

// setAffinityOfAllThreads reports whether it has set that of a thread at least. It lists them twice: one may have begun
// meanwhile, with the former CPUs.
func setAffinityOfAllThreads(set *unix.CPUSet) (done bool) {
	for range 2 {
		tids, err := procmem.ListTasks(os.Getpid(), nil)
		for _, tid := range tids {
			done = unix.SchedSetaffinity(tid, set) == nil && err == nil || done
		}
	}
	return done
}
