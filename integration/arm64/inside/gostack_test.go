package inside

import (
	"slices"
	"strconv"
	"strings"
	"testing"
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
		if !th.Complete {
			t.Errorf("%d (%s): %s: %s", th.TID, th.How, th.StopReason, strings.Join(names, " < "))
		}
	}
	prof := recorded(t, "-F", "97", "-d", "6", "-p", strconv.Itoa(p.pid))
	roots, through := map[string]int64{}, map[string]int64{}
	for _, s := range prof.Sample {
		names := real(stackOf(s))
		if len(names) == 0 {
			continue
		}
		root := names[len(names)-1]
		roots[root] += s.Value[0]
		for _, n := range slices.Compact(slices.Sorted(slices.Values(names))) {
			through[n] += s.Value[0]
		}
		if !slices.Contains(goRoots, root) {
			t.Errorf("%d× %s", s.Value[0], strings.Join(names, " < "))
		}
		if i := slices.Index(names, "main.runLoad"); i >= 0 && !slices.Equal(names[i:], []string{"main.runLoad", "runtime.goexit"}) {
			t.Errorf("beyond runLoad: %s", strings.Join(names, " < "))
		}
		if i := slices.Index(names, "main.mix"); i >= 0 && (i+1 == len(names) || names[i+1] != "main.burn") {
			t.Errorf("mix without burn: %s", strings.Join(names, " < "))
		}
	}
	t.Logf("outermost %v; deep %d, systemstack %d, mcall %d, morestack %d, sigtramp %d, burn %d", roots, through["main.deep"], through["runtime.systemstack"],
		through["runtime.mcall"], through["runtime.morestack"], through["runtime.sigtramp"], through["main.burn"])
	if through["main.burn"] == 0 || through["main.deep"] == 0 {
		t.Error("the program's own functions were not seen")
	}
}

func TestLaunchedCommandIsRecorded(t *testing.T) {
	prof := recorded(t, "-d", "3", "--", program(t, "busy"))
	for _, s := range prof.Sample {
		if slices.Contains(stackOf(s), "main.burn") {
			return
		}
	}
	t.Errorf("no stack through main.burn in %d samples", len(prof.Sample))
}
