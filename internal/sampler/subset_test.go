// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

func TestSubsetSamplesSoManyThreadsATick(t *testing.T) {
	const threads, most = 12, 3
	target := start(t, "burners", "12")
	r := record(t, Options{Freq: 199, Subset: most}, time.Second, func(s *Sampler) { stopped(t, s, 60) }, target.pid)
	if n := r.Ticks*most + r.ThreadsMax; r.Attempted > n || r.Attempted == 0 {
		t.Errorf("%d observations in %d ticks", r.Attempted, r.Ticks)
	}
	if r.NotDrawn == 0 || r.Subset != most {
		t.Errorf("%d not drawn, at most %d", r.NotDrawn, r.Subset)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
	found := map[int64]bool{}
	r.sumOf(3, func(p *pprof.Sample) bool {
		for _, tid := range p.NumLabel["tid"] {
			found[tid] = true
		}
		return false
	})
	if len(found) < threads {
		t.Errorf("%d threads were observed", len(found))
	}
}

func TestSubsetOfAllIsAll(t *testing.T) {
	target := start(t, "burners", "2")
	r := record(t, Options{Freq: 199, Subset: 100}, time.Second, func(s *Sampler) { stopped(t, s, 40) }, target.pid)
	if r.NotDrawn != 0 || r.Stops == 0 {
		t.Errorf("%d not drawn, %d frozen", r.NotDrawn, r.Stops)
	}
}
