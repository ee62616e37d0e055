// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

func asleepIn(t *testing.T, exe string) int {
	t.Helper()
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	testtargets.Eventually(t, "a thread sleeps in pause", func() bool {
		return pausing(sampleOf(t, cmd.Process.Pid, -1)) != nil
	})
	return cmd.Process.Pid
}

func pausing(p *stacks.Process) *stacks.Thread {
	for i := range p.Threads {
		if fs := p.Threads[i].Frames; len(fs) > 0 && strings.Contains(fs[0].Function, "pause") {
			return &p.Threads[i]
		}
	}
	return nil
}

func wantChain(t *testing.T, exe, functions string) {
	t.Helper()
	want := regexp.MustCompile("^" + functions + "$")
	pid := asleepIn(t, exe)
	passive := sampleOf(t, pid, -1)
	stopAll(t, pid)
	stopped := sampleOf(t, pid, -1)
	dead := Core(openCore(t, gcore(t, pid), ""), Options{MaxDepth: -1})
	for how, p := range map[string]*stacks.Process{"asleep": passive, "stopped": stopped, "core": dead} {
		th := pausing(p)
		if th == nil {
			t.Errorf("%s: no thread in pause", how)
		} else if got := names(th); !th.Complete || !want.MatchString(got) {
			t.Errorf("%s: %s after %s\nwant %s", how, th.StopReason, got, functions)
		}
	}
}

const (
	fromMain   = `main __libc_start_call_main \S+ _start`
	fromThread = `start_thread clone3`
)

func TestStackThatGrowsInPartsIsWhole(t *testing.T) {
	exe := compile(t, "splitstack.c", "-O1", "-g", "-fsplit-stack", "-pthread", "-fno-optimize-sibling-calls")
	wantChain(t, exe, `\S*pause\S* waits ((__morestack )?grows ){61}thread `+fromThread)
	stripped := exe + "-stripped"
	run(t, "strip", "-o", stripped, exe)
	if th := pausing(sampleOf(t, asleepIn(t, stripped), -1)); !th.Complete || len(th.Frames) < 61 {
		t.Errorf("stripped: %s after %s", th.StopReason, names(th))
	}
}

func TestHandlerOnAStackOfItsOwnLeadsToTheDeepOneThatWasInterrupted(t *testing.T) {
	for name, c := range map[string]struct {
		depth int
		flags []string
	}{
		"with call frame information": {200, nil},
		"without":                     {200, []string{"-fno-asynchronous-unwind-tables", "-fomit-frame-pointer"}},
		"not so deep":                 {33, nil},
	} {
		t.Run(name, func(t *testing.T) {
			exe := compile(t, "altstack.c", append([]string{"-O1", "-g", "-fno-optimize-sibling-calls",
				fmt.Sprintf("-DDEPTH=%d", c.depth)}, c.flags...)...)
			wantChain(t, exe, fmt.Sprintf(`\S*pause\S* handler \S+ (dives ){%d}`, c.depth+1)+fromMain)
		})
	}
}

func TestCoroutinesWithAndWithoutAStackOfTheirOwn(t *testing.T) {
	for name, flags := range map[string][]string{
		"with call frame information": nil,
		"without": {"-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-exceptions",
			"-fomit-frame-pointer"},
	} {
		t.Run(name, func(t *testing.T) {
			exe := compile(t, "coroutine.cc", append([]string{"-std=c++20", "-O1"}, flags...)...)
			wantChain(t, exe, `\S*pause\S* waits\S* inner\S* outer\S* runs_coroutines\S* fiber_main begins`)
		})
	}
}

func buildCgo(t *testing.T, cflags string, args ...string) string {
	t.Helper()
	testtargets.NeedProgram(t, "gcc")
	const dir = "../../testtargets/testdata/cgo"
	return testtargets.Compiled{
		Name:    "cgo",
		Sources: []string{dir + "/main.go", "../../../go.mod"},
		Env:     []string{"CGO_ENABLED=1", "CGO_CFLAGS=" + cflags},
		Command: append(append([]string{"go", "build", "-o", "OUT"}, args...), dir),
	}.Build(t)
}

func cgoChain(c func(string) string) string {
	enters := func(f string) string {
		return c(`\S*_Cfunc_`+f) + ` (racecall )?runtime.asmcgocall runtime.cgocall main._Cfunc_` + f
	}
	return `\S*pause\S* ` + c("c_waits") + " " + c("c_calls") + " " + enters("c_calls") +
		` (main.deep ){41}main.goBack _cgoexp\S* ` +
		`runtime.cgocallbackg1 (runtime.cgocallbackg ){1,2}runtime.cgocallback crosscall2 ` + c("goBack") + " " +
		c("c_back") + " " +
		c("c_first") + " " + enters("c_first") + ` main.goFirst main.main runtime.main runtime.goexit`
}

// withoutTables makes gcc describe frames in .debug_frame only.
const withoutTables = "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables"

func TestCOfAGoProgramIsDescribedByDebugFrame(t *testing.T) {
	itself := func(s string) string { return s }
	// exported functions keep their names
	maybe := func(s string) string { return `(` + s + `|cgo\+0x[0-9a-f]+)?` }
	built := map[string][]byte{}
	for name, c := range map[string]struct {
		cflags  string
		args    []string
		then    []string
		name    func(string) string
		methods string
	}{
		"in .eh_frame":         {"-O2 -g", nil, nil, itself, "context cfi cfi cfi cfi"},
		"in .debug_frame":      {withoutTables, nil, nil, itself, "context cfi cfi cfi cfi"},
		"position-independent": {withoutTables, []string{"-buildmode=pie"}, nil, itself, "context cfi cfi cfi cfi"},
		"compressed by zstd": {withoutTables, nil, []string{"objcopy", "--compress-debug-sections=zstd"}, itself,
			"context cfi cfi cfi cfi"},
		"not compressed": {withoutTables, nil, []string{"objcopy", "--decompress-debug-sections"}, itself,
			"context cfi cfi cfi cfi"},
		"stripped, in .eh_frame": {"-O2 -g", nil, []string{"strip"}, maybe, "context cfi cfi cfi cfi"},
		"stripped":               {withoutTables, nil, []string{"strip"}, maybe, "context cfi heuristic heuristic heuristic"},
	} {
		if !testtargets.All() && name != "in .debug_frame" && name != "stripped" {
			continue // each needs its own link or copy
		}
		t.Run(name, func(t *testing.T) {
			key := c.cflags + strings.Join(c.args, " ")
			if built[key] == nil {
				built[key], _ = os.ReadFile(buildCgo(t, c.cflags, c.args...))
			}
			exe := filepath.Join(t.TempDir(), "cgo")
			if err := os.WriteFile(exe, built[key], 0o700); err != nil {
				t.Fatal(err)
			}
			if len(c.then) > 0 {
				run(t, append(slices.Clone(c.then), exe)...)
			}
			wantChain(t, exe, cgoChain(c.name))
			th := pausing(sampleOf(t, asleepIn(t, exe), -1))
			var methods []string
			for _, f := range th.Frames[:5] {
				methods = append(methods, f.Method)
			}
			if got := strings.Join(methods, " "); got != c.methods {
				t.Errorf("found by %s, want %s", got, c.methods)
			}
		})
	}
}
