// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

var goRoots = []string{"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "runtime.morestack",
	"runtime.systemstack", "runtime.clone", "_rt0_arm64_linux", "_rt0_amd64_linux", "gogo", "runtime.gogo"}

func TestStacksOfAGoProgramReachTheirRoots(t *testing.T) {
	p := start(t, "busy")
	for _, th := range dumpOf(t, p.pid).Threads {
		var names []string
		for _, f := range th.Frames {
			names = append(names, f.Function)
		}
		if wrong := goFault(names); wrong != "" {
			t.Errorf("thread %d (how %s): %s, stop reason %s: %s", th.TID, th.How, wrong, th.StopReason,
				strings.Join(names, " < "))
		}
	}
	var prof *profile.Profile
	for seconds := 6; seconds < 100; seconds *= 4 {
		prof = recorded(t, "-F", "97", "-d", strconv.Itoa(seconds), "-p", strconv.Itoa(p.pid))
		if hasFunction(prof, "main.burn") && hasFunction(prof, "main.deep") && hasFunction(prof, "runtime.systemstack") {
			break
		}
	}
	roots, through := map[string]int64{}, map[string]int64{}
	var total, incomplete, unproven int64
	for _, s := range prof.Sample {
		names, n := withoutTimeEntries(stackOf(s)), s.Value[0]
		if len(names) == 0 {
			continue
		}
		total += n
		if strings.HasPrefix(names[len(names)-1], "[incomplete") {
			incomplete += n
			if names[len(names)-1] == "[incomplete: unproven]" {
				unproven += n
			}
			t.Logf("%d incomplete: %s", n, strings.Join(names, " < "))
			names = names[:len(names)-1]
		} else {
			roots[names[len(names)-1]] += n
			if wrong := goFault(names); wrong != "" {
				t.Errorf("%d stacks: %s: %s", n, wrong, strings.Join(names, " < "))
			}
		}
		for _, f := range slices.Compact(slices.Sorted(slices.Values(names))) {
			through[f] += n
		}
	}
	t.Logf("%d of %d incomplete; outermost %v; deep %d, systemstack %d, mcall %d, morestack %d, sigtramp %d, burn %d",
		incomplete, total, roots,
		through["main.deep"], through["runtime.systemstack"], through["runtime.mcall"], through["runtime.morestack"],
		through["runtime.sigtramp"], through["main.burn"])
	if through["main.burn"] == 0 || through["main.deep"] == 0 || through["runtime.systemstack"] == 0 {
		t.Error("no stack of burn, deep or systemstack")
	}
	// Unproven are passive reads at a place until a stop there has succeeded, which takes time on a busy host. The rest
	// are signals on the scheduler's stack.
	if (incomplete-unproven)*100 > total*15 || unproven*2 > total {
		t.Errorf("%d of %d stacks are incomplete, %d of them unproven; want at most 15 %% others, and half unproven",
			incomplete, total, unproven)
	}
}

func goFault(names []string) string {
	if !slices.Contains(goRoots, names[len(names)-1]) {
		return "the outermost function is no root"
	}
	if i := slices.Index(names, "main.runLoad"); i >= 0 &&
		!slices.Equal(names[i:], []string{"main.runLoad", "runtime.goexit"}) {
		return "not goexit alone beyond runLoad"
	}
	if i := slices.Index(names, "main.mix"); i >= 0 && (i+1 == len(names) || names[i+1] != "main.burn") {
		return "mix is not called by burn"
	}
	if i := slices.Index(names, "main.deep"); i >= 0 && names[len(names)-1] != "runtime.goexit" {
		return "deep is not on a goroutine"
	}
	return ""
}

func TestLaunchedCommandIsRecorded(t *testing.T) {
	for seconds := 3; seconds < 100; seconds *= 4 {
		if hasFunction(recorded(t, "--", program(t, "busy"), strconv.Itoa(seconds)), "main.burn") {
			return
		}
	}
	t.Error("no stack of the launched command has main.burn")
}

func hasFunction(prof *profile.Profile, function string) bool {
	return slices.ContainsFunc(prof.Sample, func(s *profile.Sample) bool { return slices.Contains(stackOf(s), function) })
}
