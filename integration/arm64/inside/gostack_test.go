// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// goRoots are the functions at the outer ends of stacks of Go programs: of goroutines, of threads on the
// scheduler's stack, of the first thread.
var goRoots = []string{"runtime.goexit", "runtime.mstart", "runtime.rt0_go", "runtime.mcall", "runtime.morestack",
	"runtime.systemstack", "runtime.clone", "_rt0_arm64_linux", "gogo", "runtime.gogo"}

func TestStacksOfAGoProgramReachTheirRoots(t *testing.T) {
	p := start(t, "busy")
	for _, th := range dumpOf(t, p.pid).Threads {
		var names []string
		for _, f := range th.Frames {
			names = append(names, f.Function)
		}
		if wrong := judgeGo(names); wrong != "" {
			t.Errorf("%d (%s): %s: %s: %s", th.TID, th.How, wrong, th.StopReason, strings.Join(names, " < "))
		}
	}
	var prof *profile.Profile
	for seconds := 6; seconds < 100; seconds *= 4 { // on a busy machine all takes longer
		prof = recorded(t, "-F", "97", "-d", strconv.Itoa(seconds), "-p", strconv.Itoa(p.pid))
		if shows(prof, "main.burn") && shows(prof, "main.deep") && shows(prof, "runtime.systemstack") {
			break
		}
	}
	roots, through := map[string]int64{}, map[string]int64{}
	var total, incomplete int64
	for _, s := range prof.Sample {
		names, n := seenStack(stackOf(s)), s.Value[0]
		if len(names) == 0 {
			continue
		}
		total += n
		if strings.HasPrefix(names[len(names)-1], "[incomplete") {
			incomplete += n
			t.Logf("%d× %s", n, strings.Join(names, " < "))
			names = names[:len(names)-1]
		} else {
			roots[names[len(names)-1]] += n
			if wrong := judgeGo(names); wrong != "" {
				t.Errorf("%d× %s: %s", n, wrong, strings.Join(names, " < "))
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
		t.Error("not all was seen")
	}
	// What is left: signals that come on the scheduler's stack, and the first peeks in a place, more of
	// them the slower the machine is.
	if incomplete*100 > total*15 {
		t.Errorf("%d of %d incomplete", incomplete, total)
	}
}

func judgeGo(names []string) string {
	if !slices.Contains(goRoots, names[len(names)-1]) {
		return "not from a root"
	}
	if i := slices.Index(names, "main.runLoad"); i >= 0 &&
		!slices.Equal(names[i:], []string{"main.runLoad", "runtime.goexit"}) {
		return "beyond runLoad"
	}
	if i := slices.Index(names, "main.mix"); i >= 0 && (i+1 == len(names) || names[i+1] != "main.burn") {
		return "mix without burn"
	}
	if i := slices.Index(names, "main.deep"); i >= 0 && names[len(names)-1] != "runtime.goexit" {
		return "deep on no goroutine"
	}
	return ""
}

func TestLaunchedCommandIsRecorded(t *testing.T) {
	for seconds := 3; seconds < 100; seconds *= 4 {
		if shows(recorded(t, "--", program(t, "busy"), strconv.Itoa(seconds)), "main.burn") {
			return
		}
	}
	t.Error("no stack through main.burn")
}

func shows(prof *profile.Profile, function string) bool {
	return slices.ContainsFunc(prof.Sample, func(s *profile.Sample) bool { return slices.Contains(stackOf(s), function) })
}
