// SPDX-License-Identifier: Apache-2.0

package target

import "testing"

func TestSearchIsDueWhileCPUTimeIsUnexplained(t *testing.T) {
	policy, p := NewBackoffs(1), NewProcessBackoff(0)
	p.backedOff = 2
	policy.BeginTick(1, 1e9, 10e6)
	p.SetClock(1e9, 50e6, true)
	if !policy.SearchDue(p) {
		t.Fatal("50 ms are not explained, and no thread ran")
	}
	p.explainedCPU = 50e6
	if policy.Unexplained(p) {
		t.Error("all is explained, and more are observed")
	}
	policy.SearchEnded(p, 1000)
	p.explainedCPU = 0
	policy.BeginTick(2, 1e9+10e6, 10e6)
	if p.SetClock(1e9+10e6, 50e6, true); policy.SearchDue(p) {
		t.Error("it is asked again at once")
	}
	policy.BeginTick(3, 2e9, 10e6)
	if p.SetClock(2e9, 50e6, true); !policy.SearchDue(p) || !policy.Unexplained(p) {
		t.Error("no search is due any more")
	}
	if policy.AllObserved(p); policy.Unexplained(p) {
		t.Error("all were observed, and something is not explained")
	}
}
