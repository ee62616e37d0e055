// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

var chains = []struct {
	name    string
	methods []string
}{
	{"chain", []string{"context", "cfi"}},
	{"chain-O0", withoutFramePointer},
	{"chain-dynamic", []string{"context", "cfi"}},
	{"chain-pac", []string{"context", "cfi"}},
	{"chain-nocfi", []string{"context", "cfi", "fp", "heuristic"}},
	{"chain-nocfi-nofp", []string{"context", "cfi", "fp", "heuristic"}},
	{"chain-nocfi-pac", []string{"context", "cfi", "fp", "heuristic"}},
	{"chain-high", []string{"context", "cfi"}},
	{"chain-cet", []string{"context", "cfi"}},
}

// onlyOn has the architectures of what one of them lacks.
var onlyOn = map[string]string{
	"chain-pac": "arm64", "chain-nocfi-pac": "arm64", "chain-high": "amd64", "chain-cet": "amd64",
}

// withoutFramePointer are the methods of what finds its caller by the frame pointer (-O0 on x86-64): a read without a
// stop does not have that register.
var withoutFramePointer = map[string][]string{
	"amd64": {"context", "cfi", "heuristic"}, "arm64": {"context", "cfi"}}[runtime.GOARCH]

var firstChain = []string{"step", "spin", "g", "f", "main"}

var outer = []string{"__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl", "_start", "start_thread",
	"thread_start", "clone", "__clone", "__clone3", "clone3",
	""} // the C library names only exported functions

func withoutTimeEntries(names []string) []string {
	for len(names) > 0 && (names[0] == "[ran between ticks]" || names[0] == "[blocked between ticks]" ||
		names[0] == "[exited unseen]" || names[0] == "[not observed]" || names[0] == "[kernel]") {
		names = names[1:]
	}
	return names
}

func chainFault(thread string, names []string) string {
	if slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "[incomplete") }) {
		return "incomplete"
	}
	if i := slices.Index(names, thread+"_body"); i >= 0 {
		want := []string{thread + "_inner", thread + "_outer", thread + "_body"}
		if i < 2 || !slices.Equal(names[i-2:i+1], want) || !allOuter(names[i+1:]) {
			return "not through " + strings.Join(want, " < ")
		}
		return ""
	}
	i := slices.Index(names, "main")
	if i < 0 || !allOuter(names[i+1:]) {
		return "no main, or an unexpected frame around it"
	}
	for from := range firstChain {
		if slices.Equal(names[:i+1], firstChain[from:]) {
			return ""
		}
	}
	if i >= 1 && names[i-1] == "f" && i == 2 {
		return ""
	}
	return "not the call chain"
}

func allOuter(names []string) bool {
	return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(outer, n) })
}

func TestStacksOfCProgramsAreTheirCallChains(t *testing.T) {
	for _, c := range chains {
		t.Run(c.name, func(t *testing.T) {
			if arch := onlyOn[c.name]; arch != "" && arch != runtime.GOARCH {
				t.Skipf("needs %s: %s", arch, map[string]string{"arm64": "make test-arm64", "amd64": "make test-kernels"}[arch])
			}
			p := start(t, c.name)
			if c.name == "chain-high" {
				checkHigh(t, p.pid)
			}
			checkDump(t, p.pid, c.methods)
			for _, engine := range [][]string{{"--engine", "ptrace"}, {"--engine", "perf", "--no-kernel"}} {
				total := int64(0)
				hundred := func(prof *profile.Profile) bool { total += checkSamples(t, prof); return total >= 100 }
				recordedUntil(t, 2, hundred, append([]string{"-F", "49", "-p", strconv.Itoa(p.pid)}, engine...)...)
			}
		})
	}
}

// checkHigh fails if the processor has page tables of five levels and the program's stacks are not above those of four.
func checkHigh(t *testing.T, pid int) {
	t.Helper()
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	five, high := strings.Contains(string(cpu), " la57"), strings.Contains(string(maps), "\n4000000000000-")
	t.Logf("five levels: %v, stacks above 2^48: %v", five, high)
	if five != high {
		t.Errorf("five levels: %v, stacks above 2^48: %v:\n%s", five, high, maps)
	}
}

func checkDump(t *testing.T, pid int, methods []string) {
	t.Helper()
	for _, th := range dumpOf(t, pid).Threads {
		var names, by []string
		for i, f := range th.Frames {
			names = append(names, f.Function)
			by = append(by, f.Method)
			// f calls memset through a linkage stub, which has no call frame information and is no function of the chain.
			fromStub := i == 1 && f.Function == "f" && f.Method == "heuristic" && !slices.Contains(firstChain, names[0])
			if !slices.Contains(methods, f.Method) && !fromStub {
				t.Errorf("thread %s: %s was found by method %q, want one of %v", th.Name, f.Function, f.Method, methods)
			}
		}
		name := th.Name
		if th.TID == pid {
			name = ""
		} else if th.How != "passive" && th.How != "unchanged" {
			t.Errorf("sleeping thread %s: how is %s, want passive or unchanged", th.Name, th.How)
		}
		if wrong := chainFault(name, names); wrong != "" || !th.Complete {
			t.Errorf("thread %s (how %s, state %s): %s, stop reason %s: %s by methods %s", th.Name, th.How, th.State, wrong,
				th.StopReason, names, by)
		}
	}
}

func checkSamples(t *testing.T, prof *profile.Profile) (total int64) {
	t.Helper()
	var right int64
	begins := map[string]int64{}
	for _, s := range prof.Sample {
		n := s.Value[0]
		names := withoutTimeEntries(stackOf(s))
		if len(names) == 0 {
			continue
		}
		thread := label(s, "thread")
		if thread == label(s, "comm") {
			thread = ""
		}
		total += n
		wrong := chainFault(thread, names)
		if wrong != "" {
			t.Errorf("%d samples of thread %q: %s: %s", n, thread, wrong, strings.Join(names, " < "))
			continue
		}
		right += n
		if thread == "" {
			begins[names[0]] += n
		}
	}
	t.Logf("%d of %d stacks are right; innermost functions of the first thread: %v", right, total, begins)
	return total
}
