// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/account/runstats"
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
	args := []string{"-F", "97", "-p", strconv.Itoa(p.pid)}
	recordGo(t, func(c *goCounts) bool { return c.hasAll() }, args...)
	recordGo(t, func(c *goCounts) bool { return c.hasAll() && c.unproven*2 <= c.total },
		append(args, "--engine", "ptrace")...)
}

// recordGo records until enough holds and at most half of the kernel's samples are incomplete, and fails if a stack is
// incomplete for another reason than: unproven, a passive read at a place where no stop has succeeded yet; a kernel
// sample, whose copy of the stack can be too short; a signal on the scheduler's stack; a goroutine's stack beyond the
// scheduler's, which a copy has only once a walk of the thread has come to it; memory beyond the copy, which is read
// when the thread runs again and may have moved or freed it.
func recordGo(t *testing.T, enough func(*goCounts) bool, args ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "stats.json")
	var c *goCounts
	var byKernel int64
	recordedUntil(t, 6, func(prof *profile.Profile) bool {
		c = countGo(t, prof)
		s := readStatistics(t, file)
		byKernel = s.incompleteByKernel()
		t.Logf("engine %s (%s): %d samples by the kernel, %d of them incomplete", s.Engine, s.EngineNote, s.KernelSampled,
			byKernel)
		return enough(c) && byKernel*2 <= s.KernelSampled
	}, append(args, "--stats", file)...)
	if (c.inSignal+c.notCopied+c.unread)*100 > c.total*15 {
		t.Errorf("%d of %d stacks end in a signal's handler, %d before the goroutine's stack, %d at memory that is not "+
			"there; want at most 15 %%", c.inSignal, c.total, c.notCopied, c.unread)
	}
	if c.incomplete > c.unproven+c.inSignal+c.notCopied+c.unread+byKernel || len(c.roots) == 0 {
		t.Errorf("%d of %d stacks are incomplete, %d of them unproven, %d in a signal, %d without the goroutine's stack, "+
			"%d at memory that is not there, %d by the kernel; want no others, and roots", c.incomplete, c.total, c.unproven,
			c.inSignal, c.notCopied, c.unread, byKernel)
	}
}

// handlesSignal reports whether the stack has a function with which a thread enters or leaves a handler.
func handlesSignal(names []string) bool {
	return slices.ContainsFunc(names, func(f string) bool {
		return strings.HasPrefix(f, "runtime.sigtramp") || f == "runtime.sighandler" ||
			strings.HasPrefix(f, "runtime.sigreturn") || strings.Contains(f, "rt_sigreturn")
	})
}

// incompleteByKernel are all walks without those of stops and passive reads, and without the kernel's whole samples.
func (s *statistics) incompleteByKernel() int64 {
	n := s.Whole.ByStop + s.Whole.ByPassiveRead + runstats.Sum(s.Incomplete) - s.Stops - s.PassiveReads
	return min(max(n, 0), s.KernelSampled)
}

type goCounts struct {
	total, incomplete                     int64
	unproven, inSignal, notCopied, unread int64 // of the incomplete ones
	roots, through                        map[string]int64
}

func (c *goCounts) hasAll() bool {
	return c.through["main.burn"] > 0 && c.through["main.deep"] > 0 && c.through["runtime.systemstack"] > 0
}

// countGo fails for each wrong stack.
func countGo(t *testing.T, prof *profile.Profile) *goCounts {
	t.Helper()
	c := &goCounts{roots: map[string]int64{}, through: map[string]int64{}}
	for _, s := range prof.Sample {
		names, n := withoutTimeEntries(stackOf(s)), s.Value[0]
		if len(names) == 0 {
			continue
		}
		c.total += n
		if last := names[len(names)-1]; strings.HasPrefix(last, "[incomplete") {
			c.incomplete += n
			switch {
			case last == "[incomplete: unproven]":
				c.unproven += n
			case handlesSignal(names):
				c.inSignal += n
			case last == "[incomplete: stack-cut]" && len(names) > 1 && names[len(names)-2] == "runtime.systemstack":
				c.notCopied += n
			case last == "[incomplete: bad-memory]":
				c.unread += n
			}
			t.Logf("%d incomplete: %s", n, strings.Join(names, " < "))
			names = names[:len(names)-1]
		} else {
			c.roots[last] += n
			if wrong := goFault(names); wrong != "" {
				t.Errorf("%d stacks: %s: %s", n, wrong, strings.Join(names, " < "))
			}
		}
		for _, f := range slices.Compact(slices.Sorted(slices.Values(names))) {
			c.through[f] += n
		}
	}
	t.Logf("%d of %d incomplete, %d unproven; outermost %v; deep %d, systemstack %d, mcall %d, morestack %d, "+
		"sigtramp %d, burn %d", c.incomplete, c.total, c.unproven, c.roots, c.through["main.deep"],
		c.through["runtime.systemstack"], c.through["runtime.mcall"], c.through["runtime.morestack"],
		c.through["runtime.sigtramp"], c.through["main.burn"])
	return c
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
	for seconds := 3; seconds <= 3*longest; seconds *= 4 {
		if hasFunction(recorded(t, "--", program(t, "busy"), strconv.Itoa(seconds)), "main.burn") {
			return
		}
	}
	t.Error("no stack of the launched command has main.burn")
}

func hasFunction(prof *profile.Profile, function string) bool {
	return slices.ContainsFunc(prof.Sample, func(s *profile.Sample) bool { return slices.Contains(stackOf(s), function) })
}
