// SPDX-License-Identifier: Apache-2.0

package quota

// Guard reports whether enough of a quota is left for a tick. Not safe for concurrent use.
//
// The rest is bounded from below: the quota, less all use since a moment not later than the period's start: the last
// moment at which the kernel had counted one period fewer. The kernel hands a quota to processors in slices of 5 ms
// (sched_cfs_bandwidth_slice_us), and an idle processor keeps 1 ms (kernel/sched/fair.c, min_cfs_rq_runtime): so much
// may be left on other processors.
type Guard struct {
	limit Limit
	// elsewhere is the part of the quota that other processors may hold, ns.
	elsewhere int64
	periods   int64
	before    int64 // used when the kernel had counted one period fewer, at most
	seen      int64 // used at the last query
}

const (
	slice  = 5e6
	keptBy = 1e6
)

// NewGuard makes a guard. processors is the number on which the group's threads can run at the same time, kept the
// number of others on which they have run.
func NewGuard(l Limit, processors, kept int, now Sample, used int64) *Guard {
	g := &Guard{limit: l, periods: now.Periods, before: used - l.Quota, seen: used} // nothing is known of this period
	if processors > 1 || kept > 0 {
		// At most half, or no tick would ever begin.
		g.elsewhere = min(int64(processors-1)*slice+keptBy, l.Quota/2)
	}
	return g
}

// Note records a kernel sample, and the group's use at that moment.
func (g *Guard) Note(s Sample, used int64) {
	if n := s.Periods - g.periods; n > 0 {
		// Use beyond the quota is subtracted from the next period.
		debt := max(used-g.before-n*g.limit.Quota, 0)
		g.periods, g.before = s.Periods, g.seen-min(debt, g.limit.Quota)
	}
	g.seen = used
}

// Left gives the CPU time that is certainly left of this period after such use, in nanoseconds; below zero if nothing
// is certain.
func (g *Guard) Left(used int64) int64 { return g.limit.Quota - g.elsewhere - (used - g.before) }

// Needs gives the least rest for a tick of the given cost: two such ticks and a millisecond of other work, but bounded
// by a part of the quota, so that ticks happen at all.
func (g *Guard) Needs(cost int64) int64 { return min(2*cost+1e6, g.limit.Quota/2-g.elsewhere/2) }

// Asks reports whether a query of the kernel may help: much has been used since the last.
func (g *Guard) Asks(used int64) bool {
	return used-g.seen > g.limit.Quota/16 || g.Left(used) < g.limit.Quota/2
}

// Rate gives the highest rate, in ticks a second, at which ticks of the given cost (ns) take half of the quota.
func (g *Guard) Rate(cost float64) float64 {
	if cost <= 0 {
		return 1e9
	}
	return g.limit.Share() / 2 * 1e9 / cost
}

// Limit gives the guarded limit.
func (g *Guard) Limit() *Limit { return &g.limit }
