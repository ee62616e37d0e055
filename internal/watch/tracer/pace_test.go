// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func TestEffectsOfAQuotaAreKeptWhenItIsOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	stat := filepath.Join(dir, "cpu.stat")
	if err := os.WriteFile(stat, []byte("usage_usec 5000\nnr_periods 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	limits := []cgroup.CPUQuota{{Dir: dir, Quota: 20e6, Period: 100e6}}
	p := newPacer(&target.SharedState{Observer: &observe.Observer{}}, &target.SamplingOptions{Freq: 99}, 1)
	for range 2 {
		p.openQuota(limits, "normal")
		if p.withinQuota() {
			t.Error("a tick was admitted in a period of unknown use")
		}
		p.closeQuota()
	}
	if p.underQuota() {
		t.Error("a closed quota bounds ticks")
	}
	var s runstats.Stats
	p.stats(&s)
	if got := s.OwnQuota; got.Quota != 0.2 || got.TicksWithheldByQuota != 2 {
		t.Errorf("%+v, want a quota of 0.2 and 2 withheld ticks", got)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if at, _ := os.Readlink("/proc/self/fd/" + f.Name()); at == stat {
			t.Errorf("descriptor %s of the group is still open", f.Name())
		}
	}
}

func TestSamplesOfUntrackedChildrenComeWithTheirTime(t *testing.T) {
	shared := &target.SharedState{EngineSamples: 1000}
	p := newPacer(shared, &target.SamplingOptions{Freq: 99, MaxOverhead: 0.02}, 1)
	p.chargeSamples()
	if p.withinBudget(0) {
		t.Error("1,000 samples of no time are within 2 %")
	}
	if shared.ChildCPU = 1000 * 1.25e6; !p.withinBudget(0) {
		t.Error("1,000 samples of 1.25 ms of children are not within 2 %")
	}
}
