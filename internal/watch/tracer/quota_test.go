// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prywalk/internal/host/cgroup"
)

// quotaGroup is a control group of 2 CPUs with other processes.
type quotaGroup struct {
	t   *testing.T
	dir string
}

func (g quotaGroup) set(usedMS, periods, throttledMS int) {
	g.t.Helper()
	text := fmt.Sprintf("usage_usec %d000\nnr_periods %d\nthrottled_usec %d000\n", usedMS, periods, throttledMS)
	if err := os.WriteFile(filepath.Join(g.dir, "cpu.stat"), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

func openQuotaGroup(t *testing.T) (quotaGroup, *quota) {
	t.Helper()
	g := quotaGroup{t, t.TempDir()}
	g.set(5, 1, 0)
	q := newQuota([]cgroup.CPUQuota{{Dir: g.dir, Quota: 200e6, Period: 100e6}}, "normal")
	if q == nil {
		t.Fatal("no quota is found")
	}
	t.Cleanup(q.close)
	return g, q
}

func TestTicksAndObservationsBeginWithEnoughOfTheQuotaLeft(t *testing.T) {
	g, q := openQuotaGroup(t)
	for _, c := range []struct {
		name            string
		usedMS, periods int
		want            bool
	}{
		{"use in the first period is unknown", 5, 1, false},
		{"a new period", 5, 2, true},
		{"little was used", 10, 2, true},
		{"all was used", 205, 2, false},
		{"the next period", 205, 3, true},
	} {
		g.set(c.usedMS, c.periods, 0)
		if got := q.admitObservation(); got != c.want {
			t.Errorf("%s: observation admitted: %v", c.name, got)
		}
		if got := q.admitTick(); got != c.want {
			t.Errorf("%s: tick admitted: %v", c.name, got)
		}
	}
	if s := q.stats(); s.TicksWithheldByQuota != 2 || s.Quota != 2 {
		t.Errorf("%d ticks withheld by a quota of %v, want 2 by 2", s.TicksWithheldByQuota, s.Quota)
	}
	var none *quota
	if !none.admitTick() || !none.admitObservation() {
		t.Error("not admitted without a quota")
	}
}

func TestExpensiveTicksNeedMoreOfTheQuota(t *testing.T) {
	g, q := openQuotaGroup(t)
	g.set(5, 2, 0)
	q.read()
	g.set(5+int(q.guard.Left(q.groupCPU)/1e6)-2, 2, 0) // 2 ms are left
	q.read()
	for cost, want := range map[float64]bool{0: true, 1e6: false} {
		q.groupCPUAtTick, q.meanCost = q.groupCPU, cost
		if got := q.admitTick(); got != want {
			t.Errorf("a tick of %v ns is admitted: %v", cost, got)
		}
	}
}

func TestRateTakesHalfOfTheQuotaIfPrywalkIsAlone(t *testing.T) {
	guard := cgroup.NewQuotaGuard(cgroup.CPUQuota{Quota: 20e6, Period: 100e6}, 1, 0, cgroup.CPUStat{}, 0)
	for _, c := range []struct {
		alone             bool
		cost, asked, want float64
	}{
		{true, 1e6, 1000, 100}, {true, 1e6, 50, 50}, {true, 1e12, 50, minQuotaRate}, {true, 0, 1000, 1000},
		{false, 1e6, 1000, 1000},
	} {
		q := &quota{alone: c.alone, guard: guard, meanCost: c.cost}
		if got := q.rate(c.asked); got != c.want {
			t.Errorf("%+v: rate %v", c, got)
		}
	}
	var none *quota
	if got := none.rate(99); got != 99 {
		t.Errorf("without a quota: rate %v", got)
	}
}

func TestThrottledTimeOfAStopIsNotPrywalksIfTheTargetIsInTheGroup(t *testing.T) {
	for _, alone := range []bool{false, true} {
		g, q := openQuotaGroup(t)
		q.alone = alone
		for _, c := range []struct {
			throttledMS      int
			stopped, without time.Duration // ns
		}{
			{0, 10e6, 10e6}, {3, 10e6, 7e6}, {3, 10e6, 10e6}, {8, 2e6, 0}, {9, throttledFrom - 1, throttledFrom - 1},
		} {
			want := c.without
			if alone {
				want = c.stopped
			}
			if g.set(5, 2, c.throttledMS); q.ownPart(c.stopped) != want {
				t.Errorf("alone %v: own part of %d ns at %d ms of throttling is not %d", alone, c.stopped, c.throttledMS, want)
			}
		}
		if s := q.stats(); s.StopsThrottled != 2 {
			t.Errorf("alone %v: %d stops throttled, want 2", alone, s.StopsThrottled)
		}
	}
	var none *quota
	if got := none.ownPart(10e6); got != 10e6 {
		t.Errorf("without a quota: %d ns", got)
	}
}
