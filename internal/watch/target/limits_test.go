// SPDX-License-Identifier: Apache-2.0

package target

import "testing"

func TestSearchIsDueWhileCPUTimeIsUnexplained(t *testing.T) {
	policy, clock := NewBackoffs(1), &Clock{}
	p := NewProcessBackoff(clock)
	p.backedOff = 2
	policy.BeginTick(1, 1e9, 10e6)
	*clock = Clock{ReadAt: 1e9, Now: 50e6, Valid: true}
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
	if clock.ReadAt = 1e9 + 10e6; policy.SearchDue(p) {
		t.Error("it is asked again at once")
	}
	policy.BeginTick(3, 2e9, 10e6)
	if clock.ReadAt = 2e9; !policy.SearchDue(p) || !policy.Unexplained(p) {
		t.Error("no search is due any more")
	}
	if policy.AllObserved(p); policy.Unexplained(p) {
		t.Error("all were observed, and something is not explained")
	}
}
