// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func realPrograms(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real programs under load")
	}
}

func TestRecordingsOfRealProgramsMatchTheirKnownBehaviour(t *testing.T) {
	realPrograms(t)
	for _, name := range testtargets.Names() {
		t.Run(name, func(t *testing.T) {
			target := testtargets.Run(t, name, testtargets.Options{})
			pids := target.PIDs()
			m := startMeter(pids)
			r := recordUntil(t, "enough samples of "+name, func(p *profile.Profile) bool {
				nameBySymbols(t, p, target)
				return hasExpected(target.Expect)(p) && (total(p, cpuColumn) > muchCPU || p.DurationNanos > 30e9)
			}, "-p", pidList(pids))
			m.finish()
			target.End()
			nameBySymbols(t, r.Profile, target)
			checkAccounting(t, r.stats)
			checkCompleteness(t, r, target.Expect.CompleteFloor)
			checkFunctions(t, r.Profile, target.Expect)
			checkShares(t, r.Profile, target.Expect.Shares)
			for _, s := range target.Expect.Sleepers {
				checkSleeper(t, r.Profile, s)
			}
			checkCPU(t, r, m)
			checkViewers(t, r)
		})
	}
}

// muchCPU is CPU time in ns of which 2 % are sixteen samples' time: two threads that hardly run use more than that
// before their first samples in two of a million recordings.
const muchCPU = 8.1e9

func checkCompleteness(t *testing.T, r *recording, floor float64) {
	t.Helper()
	share, n := completeShare(r.Profile)
	t.Logf("%d samples, %.2f %% complete, incomplete %v", n, 100*share, r.stats.Incomplete)
	if share < floor {
		t.Errorf("%.2f %% of %d stacks are complete, want at least %.1f %%", 100*share, n, 100*floor)
	}
}

func onCPU(s *profile.Sample) bool { return s.Value[cpuColumn] > 0 }

func checkFunctions(t *testing.T, p *profile.Profile, e testtargets.Expect) {
	t.Helper()
	for _, chain := range missingChains(p, e) {
		t.Errorf("no sample on a CPU has the chain %v", chain)
	}
}

func missingChains(p *profile.Profile, e testtargets.Expect) (missing [][]string) {
	chains := slices.Clone(e.Chains)
	for _, f := range e.Hot {
		chains = append(chains, []string{f})
	}
	for _, chain := range chains {
		seen := slices.ContainsFunc(p.Sample, func(s *profile.Sample) bool {
			return label(s, "state") == "running" && testtargets.HasChain(stackOf(s), chain)
		})
		if !seen {
			missing = append(missing, chain)
		}
	}
	return missing
}

// Five standard errors, and two points for differences between processors.
func checkShares(t *testing.T, p *profile.Profile, shares map[string]float64) {
	t.Helper()
	cpu, all, count := timesOf(p, shares)
	for name, want := range shares {
		got := float64(cpu[name]) / float64(max(all, 1))
		allowed := 5*math.Sqrt(want*(1-want)/max(count, 1)) + 0.02
		t.Logf("%s: %.3f of the time in %.0f samples, want %.2f ± %.3f", name, got, count, want, allowed)
		if math.Abs(got-want) > allowed {
			t.Errorf("%s has %.3f of the time in %.0f samples, want %.2f ± %.3f", name, got, count, want, allowed)
		}
	}
}

// count is the effective number of samples: (sum of weights)² / sum of squares (Kish's effective size).
func timesOf(p *profile.Profile, shares map[string]float64) (cpu map[string]int64, all int64, count float64) {
	cpu = map[string]int64{}
	squares := 0.0
	for _, s := range p.Sample {
		stack := stackOf(s)
		for name := range shares {
			if testtargets.HasChain(stack, []string{name}) && onCPU(s) {
				cpu[name] += s.Value[cpuColumn]
				all += s.Value[cpuColumn]
				squares += math.Pow(float64(s.Value[cpuColumn]), 2)
			}
		}
	}
	return cpu, all, math.Pow(float64(all), 2) / max(squares, 1)
}

func checkSleeper(t *testing.T, p *profile.Profile, want testtargets.Sleeper) {
	t.Helper()
	seen := false
	for _, s := range p.Sample {
		if label(s, "thread") != want.Thread {
			continue
		}
		seen = true
		stack := stackOf(s)
		if !testtargets.HasChain(stack, want.Chain) {
			t.Errorf("thread %s: want the chain %v in the stack %q", want.Thread, want.Chain, stack)
		}
		if label(s, "state") != "sleeping" || !slices.Contains(want.Waits, label(s, "wait")) {
			t.Errorf("thread %s: state %q, wait %q, want one of %v", want.Thread, label(s, "state"), label(s, "wait"),
				want.Waits)
		}
		if s.Value[cpuColumn] != 0 {
			t.Errorf("sleeping thread %s has %d ns of CPU time, want 0", want.Thread, s.Value[cpuColumn])
		}
	}
	if !seen {
		t.Errorf("sleeping thread %s has no sample", want.Thread)
	}
}

// Up to 2 % may be not observed; if the program spent more time in the run queue than on CPUs, that many times more. A
// thread with little CPU time may have no sample on a CPU.
func checkCPU(t *testing.T, r *recording, m *meter) {
	t.Helper()
	checkTotals(t, r, m)
	queued := float64(total(r.Profile, queueColumn)) / float64(max(total(r.Profile, cpuColumn), 1))
	t.Logf("not observed %.3f %%, queue time %.2f times the CPU time", 100*notObserved(r.Profile), queued)
	if share := notObserved(r.Profile); share > 0.02*max(queued, 1) {
		t.Errorf("%.2f %% of the CPU time was not observed, with %.1f times as much queue time: %v; %d ticks at %.1f Hz",
			100*share, queued, notObservedBy(r.Profile), r.stats.Ticks, r.stats.FrequencyGot)
	}
}

// Within 1 % and one tick (10 ms, USER_HZ) per thread.
func checkTotals(t *testing.T, r *recording, m *meter) {
	t.Helper()
	least, most := m.window(time.Unix(0, r.TimeNanos), time.Duration(r.DurationNanos))
	profiled := time.Duration(total(r.Profile, cpuColumn))
	allowed := most/100 + time.Duration(max(r.stats.ThreadsMax, 1))*10*time.Millisecond
	t.Logf("CPU: the profile %v, the kernel %v to %v; not observed %.2f %%", profiled, least, most,
		100*notObserved(r.Profile))
	if profiled < least-allowed || profiled > most+allowed {
		t.Errorf("the profile has %v of CPU time, want %v to %v, as the kernel, ± %v", profiled, least, most, allowed)
	}
	if d := math.Abs(r.stats.CPUProfiledS - profiled.Seconds()); d > 0.001 {
		t.Errorf("cpu_profiled_s is %v, want %v, the profile's sum", r.stats.CPUProfiledS, profiled)
	}
	if s := r.stats.CPUTargetS; s < (least-allowed).Seconds() || s > (most+allowed).Seconds() {
		t.Errorf("cpu_target_s is %v, want %v to %v, as the kernel", s, least, most)
	}
}

func nameBySymbols(t *testing.T, p *profile.Profile, target *testtargets.Target) {
	t.Helper()
	if target.Unstripped == "" {
		return
	}
	f, err := elf.Open(target.Unstripped)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range p.Location {
		if l.Mapping == nil || l.Mapping.File != target.Exe {
			continue
		}
		offset := l.Address - l.Mapping.Start + l.Mapping.Offset
		if name := symbolAt(f, symbols, offset); name != "" {
			l.Line = []profile.Line{{Function: &profile.Function{Name: name}}}
		}
	}
}

func symbolAt(f *elf.File, symbols []elf.Symbol, offset uint64) string {
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || offset < p.Off || offset >= p.Off+p.Filesz {
			continue
		}
		addr := offset - p.Off + p.Vaddr
		for _, s := range symbols {
			if elf.ST_TYPE(s.Info) == elf.STT_FUNC && addr >= s.Value && addr < s.Value+s.Size {
				return s.Name
			}
		}
	}
	return ""
}
