// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"sync/atomic"
	"testing"

	"prywalk/internal/watch/perfengine"
	"prywalk/internal/watch/target"
	"prywalk/internal/watch/tracer"
	"prywalk/ptrace"
)

func TestABudgetIsKeptWithTheKernelsSamples(t *testing.T) {
	const share = 0.002
	target := start(t, "burners", "4")
	o := sampling(t, 1000)
	o.MaxOverhead = share
	r := recordUntil(t, o, func(r *recorded) bool { return r.Seconds > 2 && len(r.Sample) > 0 }, target.pid)
	if r.Engine != "perf" || r.Stops != 0 || r.KernelSampled == 0 {
		t.Errorf("engine %q, %d stops, %d samples", r.Engine, r.Stops, r.KernelSampled)
	}
	surplus := 4 * 8 * tracer.SampleCost / 1e9
	if r.Lost > share*r.TargetCPU+surplus || r.Lost < 0.5*float64(r.KernelSampled)*tracer.SampleCost/1e9 {
		t.Errorf("%v s lost of %v s, by %d samples", r.Lost, r.TargetCPU, r.KernelSampled)
	}
	if most := share * 1e9 / tracer.SampleCost; events(&o).Freq() > most {
		t.Errorf("%v samples/s, more than %v", events(&o).Freq(), most)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}

type alternating struct {
	*perfengine.Source
	changes atomic.Int64
}

type alternatingRun struct {
	target.Engine
	of   *alternating
	last float64
	n    int
}

func (s *alternating) Start(r *target.SharedState, h target.EngineHost, o *target.SamplingOptions) target.Engine {
	return &alternatingRun{Engine: s.Source.Start(r, h, o), of: s}
}

func (r *alternatingRun) SetRate(now ptrace.Moment, _ float64) {
	r.n++
	r.Engine.SetRate(now, []float64{400, 50}[r.n%2])
	if hz := r.of.Events.Freq(); hz != r.last {
		r.last = hz
		r.of.changes.Add(1)
	}
}

func TestSumsAreTheKernelsWhileTheRateOfSamplesChanges(t *testing.T) {
	target := start(t, "burners", "2")
	o := sampling(t, 199)
	s := &alternating{Source: source(&o)}
	o.Engine = s
	r := recordUntil(t, o, func(*recorded) bool { return s.changes.Load() >= 4 }, target.pid)
	if r.Engine != "perf" || r.Stops != 0 || r.KernelSampled == 0 {
		t.Errorf("engine %q, %d stops, %d samples", r.Engine, r.Stops, r.KernelSampled)
	}
	if d := r.TargetCPU - r.ProfiledCPU; d < -0.001 || d > 0.001 {
		t.Errorf("%v s of the target, %v in the profile", r.TargetCPU, r.ProfiledCPU)
	}
}
