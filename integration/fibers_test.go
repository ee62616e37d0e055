// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"math"
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
				if engine == "perf" {
					needsPerf(t)
				}
				c := fiberProgram(t, f.run, f.compiled)
				testtargets.Ready(t, c)
				r := recordUntil(t, "400 samples of "+f.name, func(p *profile.Profile) bool { return computing(p) >= 400 },
					"--engine", engine, "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
				checkFibers(t, r.Profile, f.compiled)
			})
		}
	}
}

func fiberProgram(t *testing.T, run []string, compiled bool) *exec.Cmd {
	t.Helper()
	if !compiled {
		tool, err := exec.LookPath(run[0])
		if err != nil {
			t.Skipf("%s is not installed: run make setup", run[0])
		}
		return exec.Command(tool, run[1:]...)
	}
	found, _ := filepath.Glob(run[0])
	if len(found) == 0 {
		found, _ = filepath.Glob(strings.Replace(run[0], "/include/", "/include/*/", 1))
	}
	if len(found) == 0 {
		t.Skipf("%s is not installed: run make setup", run[0])
	}
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

func checkFibers(t *testing.T, p *profile.Profile, compiled bool) {
	t.Helper()
	chain := []string{"spin", "level", "level", "level", "level", "level", "level", "body"}
	var all, incomplete, spinning, whole int64
	for _, s := range p.Sample {
		if label(s, "state") != "running" || !onCPU(s) {
			continue
		}
		names, n := stackOf(s), s.Value[samplesColumn]
		all += n
		if strings.HasPrefix(names[len(names)-1], "[incomplete") {
			t.Logf("%d incomplete: %v", n, names)
			incomplete += n
		}
		if slices.Contains(names, "spin") {
			spinning += n
			if testtargets.HasChain(names, chain) {
				whole += n
			}
		}
	}
	t.Logf("%d stacks, %d incomplete, %d in the innermost function", all, incomplete, spinning)
	// One in 100, and five standard errors: a scheduler's stack can be deeper than the kernel's copy.
	most := float64(all) / 100
	if most += 5 * math.Sqrt(most); float64(incomplete) > most {
		t.Errorf("%d of %d stacks are incomplete, want at most %.0f", incomplete, all, most)
	}
	if compiled && (spinning < all/2 || float64(spinning-whole) > most) {
		t.Errorf("%d of %d stacks are in the innermost function, want half; %d of these have all callers, want all "+
			"but %.0f", spinning, all, whole, most)
	}
}
