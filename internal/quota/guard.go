// SPDX-License-Identifier: Apache-2.0

package quota

// Guard tells whether so much is left of a quota that this process does not come to stand still soon. It belongs to one
// goroutine.
//
// What is left is bounded from below: the quota, less all that was used since a moment that is surely not later
// than the period's beginning. That moment is the last at which the kernel counted one period fewer. The kernel
// hands a group's quota to its processors in slices of 5 ms (sched_cfs_bandwidth_slice_us), and a processor on
// which nobody runs any more keeps 1 ms (kernel/sched/fair.c, min_cfs_rq_runtime). So much may be left on others,
// where this process has none of it.
type Guard struct {
	limit Limit
	// Elsewhere is what other processors may hold of the quota, ns.
	elsewhere int64
	periods   int64
	before    int64 // used when the kernel counted one period fewer, at most
	seen      int64 // used when it was last asked
}

const (
	slice  = 5e6
	keptBy = 1e6
)

// NewGuard gives a guard; processors are those on which threads of the group may run at the same time, and kept those
// besides on which they have run before.
func NewGuard(l Limit, processors, kept int, now Sample, used int64) *Guard {
	g := &Guard{limit: l, periods: now.Periods, before: used - l.Quota, seen: used} // of this period nothing is sure
	if processors > 1 || kept > 0 {
		// No more than half: else nobody would ever be looked at.
		g.elsewhere = min(int64(processors-1)*slice+keptBy, l.Quota/2)
	}
	return g
}

// Told takes note of a sample, and of what the group has used at that moment.
func (g *Guard) Told(s Sample, used int64) {
	if n := s.Periods - g.periods; n > 0 {
		// Who ran on beyond the quota until the scheduler saw it has less of the next period.
		debt := max(used-g.before-n*g.limit.Quota, 0)
		g.periods, g.before = s.Periods, g.seen-min(debt, g.limit.Quota)
	}
	g.seen = used
}

// Left gives how much processor time is surely left of this period, when so much was used so far, in nanoseconds;
// below zero if nothing is sure.
func (g *Guard) Left(used int64) int64 { return g.limit.Quota - g.elsewhere - (used - g.before) }

// Needs gives how much must be left before a tick begins that takes about cost. They are two such ticks, and a
// millisecond for what else this process does, but no more than a part of the quota, so that there are ticks at
// all.
func (g *Guard) Needs(cost int64) int64 { return min(2*cost+1e6, g.limit.Quota/2-g.elsewhere/2) }

// Asks reports whether it is worth asking the kernel for a sample: much of what was left has gone since.
func (g *Guard) Asks(used int64) bool {
	return used-g.seen > g.limit.Quota/16 || g.Left(used) < g.limit.Quota/2
}

// Rate gives the highest rate, in ticks a second, at which ticks that cost so much, in nanoseconds, take half of the
// quota.
func (g *Guard) Rate(cost float64) float64 {
	if cost <= 0 {
		return 1e9
	}
	return g.limit.Share() / 2 * 1e9 / cost
}

// Limit gives the limit that it guards.
func (g *Guard) Limit() *Limit { return &g.limit }
