// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

func realPrograms(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real programs under load")
	}
}

// oneOfEach has a program of each language.
var oneOfEach = []string{"c", "cpp", "rust", "go", "python", "node", "java"}

func TestRecordingsOfRealProgramsMatchTheirKnownBehaviour(t *testing.T) {
	realPrograms(t)
	for _, name := range testtargets.Names() {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains(oneOfEach, name) {
				testtargets.OnlyInAll(t, "another build or server of a language that has one")
			}
			target := testtargets.Run(t, name, testtargets.Options{})
			r := recordUntil(t, "enough samples of "+name, func(p *profile.Profile) bool {
				nameBySymbols(t, p, target)
				return hasExpected(target.Expect)(p)
			}, "-p", pidList(target.PIDs()))
			target.End()
			nameBySymbols(t, r.Profile, target)
			checkAccounting(t, r.stats)
			checkIncomplete(t, r, target.Expect)
			checkFunctions(t, r.Profile, target.Expect)
			for _, s := range target.Expect.Sleepers {
				checkSleeper(t, r.Profile, s)
			}
			checkViewers(t, r)
		})
	}
}

// physical reasons depend on the machine and on the moment of a sample: pages that are not loaded or move while
// they are read, a kernel sample's copy, a sleeper that was not stopped. With call frame information there is no
// other reason.
var physical = []string{"bad-memory", "stack-cut", "unproven"}

// checkIncomplete checks that stacks are incomplete for physical reasons only, in the recording and in its
// statistics. How many are is measured by benchmarks/accuracy.
func checkIncomplete(t *testing.T, r *recording, e testtargets.Expect) {
	t.Helper()
	allowed := physical
	if e.Tableless {
		allowed = append(slices.Clone(physical), "no-rule", "loop")
	}
	checkReasons(t, r.Profile, allowed...)
	for reason := range r.stats.Incomplete {
		if !slices.Contains(allowed, reason) {
			t.Errorf("stacks are incomplete as %v in the statistics, want %v only", r.stats.Incomplete, allowed)
		}
	}
}

func checkReasons(t *testing.T, p *profile.Profile, allowed ...string) {
	t.Helper()
	share, n := completeShare(p)
	t.Logf("%d samples, %.2f %% complete", n, 100*share)
	shown := 0
	for _, s := range p.Sample {
		reason := incompleteReason(s)
		if reason == "" || slices.Contains(allowed, reason) {
			continue
		}
		if shown++; shown > 3 {
			return
		}
		t.Errorf("incomplete as %s, want %v only: %q", reason, allowed, stackOf(s))
	}
}

// incompleteReason returns "" for a complete stack.
func incompleteReason(s *profile.Sample) string {
	names := stackOf(s)
	reason, _ := strings.CutPrefix(names[len(names)-1], "[incomplete: ")
	if reason == names[len(names)-1] {
		return ""
	}
	return strings.TrimSuffix(reason, "]")
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
