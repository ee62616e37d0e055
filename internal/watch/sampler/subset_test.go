// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"regexp"
	"testing"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
)

func TestSubsetSamplesSoManyThreadsATick(t *testing.T) {
	const threads, most = 12, 3
	program := start(t, "burners", "12")
	r := record(t, target.SamplingOptions{Freq: 199, Subset: most}, 0, func(s *Sampler) {
		// The chance that a thread is in none of 200 draws is below 10⁻²².
		await(t, "200 ticks", func() bool { return s.Progress().Tracer.Ticks >= 200 })
		stopped(t, s, 60)
	}, program.pid)
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

func TestTimeBeforeTheFirstSampleIsAttributed(t *testing.T) {
	burners := regexp.MustCompile("^burner-")
	for _, o := range []target.SamplingOptions{{Subset: 1}, {Subset: 1, Threads: burners}, {MaxOverhead: 1e-9},
		{MaxOverhead: 1e-9, Threads: burners}} {
		testTimeBeforeTheFirstSample(t, o)
	}
}

func testTimeBeforeTheFirstSample(t *testing.T, o target.SamplingOptions) {
	t.Helper()
	target := start(t, "burners", "8")
	var first, last uint64
	r := run(t, o, func(s *Sampler) bool {
		cpu, err := procmem.ProcessCPU(target.pid)
		if err != nil {
			t.Error(err)
			return true
		}
		if s.Progress().Tracer.Ticks > 0 && first == 0 {
			first = cpu
		}
		last = cpu
		return s.Progress().Tracer.Ticks >= 20 || s.Progress().Tracer.WithheldTicks >= 2
	}, nil, target.pid)
	target.signal(t, unix.SIGKILL)
	if profiled := r.ProfiledCPU * 1e9; profiled < float64(last-first) {
		t.Errorf("threads %v: %.0f ns of CPU are attributed, want at least the %d charged meanwhile", o.Threads, profiled,
			last-first)
	}
}
