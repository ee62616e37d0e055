// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

var fibers = []struct {
	name     string
	run      []string // a command; for a C program a pattern of a file that must exist, and flags
	compiled bool
}{
	{"ucontext", []string{"/usr/include/ucontext.h"}, true},
	{"boost-context", []string{"/usr/lib/*/libboost_context.so.*", "-DBOOST_CONTEXT"}, true},
	{"state-threads", []string{"/usr/include/st.h", "-DSTATE_THREADS", "-lst"}, true},
	{"gnu-pth", []string{"/usr/include/pth.h", "-DGNU_PTH", "-lpth"}, true},
	{"php", []string{"php", "testdata/fibers.php"}, false},
	{"ruby", []string{"ruby", "testdata/fibers.rb"}, false},
}

func TestStacksOfFibersAreComplete(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for _, f := range fibers {
		for _, engine := range []string{"ptrace", "perf"} {
			t.Run(f.name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				if f.compiled && f.name != "ucontext" || !f.compiled && engine == "perf" {
					testtargets.OnlyInAll(t, "another library of coroutines, or the other engine")
				}
				if engine == "perf" {
					needsPerf(t)
				}
				c := fiberProgram(t, f.run, f.compiled)
				testtargets.Ready(t, c)
				r := recordUntil(t, "100 samples of "+f.name, func(p *profile.Profile) bool { return spinning(p) >= 100 },
					"--engine", engine, "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
				checkFibers(t, r.Profile, f.compiled)
			})
		}
	}
}

func fiberProgram(t *testing.T, run []string, compiled bool) *exec.Cmd {
	t.Helper()
	if !compiled {
		return exec.Command(testtargets.NeedProgram(t, run[0]), run[1:]...)
	}
	found, _ := filepath.Glob(run[0])
	if len(found) == 0 {
		found, _ = filepath.Glob(strings.Replace(run[0], "/include/", "/include/*/", 1))
	}
	testtargets.Need(t, len(found) > 0, run[0], testtargets.SetUp)
	flags := append([]string{"-O2", "-fno-optimize-sibling-calls", "-fno-ipa-sra", "-fno-inline"}, run[1:]...)
	if strings.Contains(run[0], "/lib/") {
		flags = append(flags, found[0])
	}
	file, err := testtargets.Compile("fibers.c", flags...)
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(file)
}

var fiberChain = []string{"spin", "level", "level", "level", "level", "level", "level", "body"}

// spinning counts the samples in the innermost function.
func spinning(p *profile.Profile) (n int64) {
	for _, s := range p.Sample {
		if label(s, "state") == "running" && slices.Contains(stackOf(s), "spin") {
			n += s.Value[samplesColumn]
		}
	}
	return n
}

// Where a fiber computes, its stack is whole. Only where it is switched, or below a scheduler whose stack is
// deeper than a kernel sample's copy, it can be incomplete.
func checkFibers(t *testing.T, p *profile.Profile, compiled bool) {
	t.Helper()
	withCaller := slices.DeleteFunc(slices.Clone(p.Sample), isBetweenStacks)
	_, all := completeShare(p)
	_, rest := completeShare(&profile.Profile{Sample: withCaller})
	if n := all - rest; 10*n > spinning(p) {
		t.Errorf("%d samples are between two stacks, beside %d that compute", n, spinning(p))
	}
	checkReasons(t, &profile.Profile{Sample: withCaller}, physical...)
	for _, s := range p.Sample {
		names := stackOf(s)
		if label(s, "state") != "running" || !onCPU(s) || !slices.Contains(names, "spin") {
			continue
		}
		if compiled && incompleteReason(s) != "" || compiled && !testtargets.HasChain(names, fiberChain) {
			t.Errorf("a stack of the innermost function has not all callers: %q", names)
		}
	}
}

// isBetweenStacks reports whether the thread was in glibc's swapcontext and has no caller: between the load of the
// other stack's pointer and the push of that stack's return address there is none.
func isBetweenStacks(s *profile.Sample) bool {
	return incompleteReason(s) == "no-rule" && stackOf(s)[0] == "swapcontext"
}
