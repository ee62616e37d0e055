// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// A thread has no Python frames in fewer than 1 of 50 dumps (docs/languages.md): a moment with three threads fails by
// chance less than once in a million.
const mostTakes = 5

// checkDump requires a Python chain in each thread, and all functions in at least one; again: a chain is missing.
func checkDump(t *testing.T, what string, k known, p *stacks.Process, last bool) (again bool) {
	t.Helper()
	whole := false
	for _, th := range p.Threads {
		var stack []frame
		for i := len(th.Frames) - 1; i >= 0; i-- {
			if f := &th.Frames[i]; f.Kind == "cpython" {
				stack = append(stack, frame{Frame: managed.Frame{Function: f.Function, Line: f.Line}})
			}
		}
		stack = fromForever(stack)
		if len(stack) == 0 && !last {
			return true
		}
		if msg := k[1:].check(stack); msg != "" || len(stack) == 0 {
			t.Errorf("%s, thread %d: %s\n%v", what, th.TID, msg, names(stack))
		}
		whole = whole || len(stack) == len(k)-2
	}
	if !whole && last {
		t.Errorf("%s: no thread is at the end of its chain", what)
	}
	return !whole
}

// fromForever leaves out what calls forever, which differs from thread to thread.
func fromForever(stack []frame) []frame {
	for i := range stack {
		if stack[i].Function == "forever" {
			return stack[i:]
		}
	}
	return stack
}

func TestDumpsAndCoresHavePythonFrames(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/chain.py", "sleep", "2")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			k = append(k, k[len(k)-1])
			pid := cmd.Process.Pid
			p, err := loadedcode.Open(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, atomic := range []bool{false, true} {
				for take := 1; ; take++ {
					d, err := dump.Sample(p, dump.Options{MaxDepth: -1, Atomic: atomic})
					if err != nil {
						t.Fatal(err)
					}
					if !checkDump(t, fmt.Sprintf("dump, atomic %v", atomic), k, d, take == mostTakes) || take == mostTakes {
						break
					}
				}
			}
			if strings.HasPrefix(version, release) {
				pid = launchAlone(t, exe)
			}
			for take := 1; checkCore(t, pid, k, take == mostTakes) && take < mostTakes; take++ {
			}
		})
	}
}

// launchAlone has one thread: Debian testing's C library keeps a guard page inside of further threads' stacks, and
// Debian 12's gcore omits such mappings.
func launchAlone(t *testing.T, exe string) (pid int) {
	t.Helper()
	cmd, _ := observed.Launch(t, exe, "testdata/chain.py", "sleep", "0")
	return cmd.Process.Pid
}

func checkCore(t *testing.T, pid int, k known, last bool) (again bool) {
	t.Helper()
	return checkDump(t, "core", k, observed.DumpCore(t, pid), last)
}

func launchInPIDNamespace(t *testing.T, exe string, args ...string) (pid int, line string) {
	t.Helper()
	enter := []string{"--user", "--map-root-user", "--pid", "--fork", "--kill-child"}
	err := bounded.Run(exec.Command(testtargets.NeedProgram(t, "unshare"), append(enter, "true")...))
	testtargets.Need(t, err == nil, "the right to make namespaces", "sudo sysctl kernel.unprivileged_userns_clone=1")
	cmd, line := observed.Launch(t, "unshare", append(append(enter, exe), args...)...)
	kids := process.Children(cmd.Process.Pid)
	if len(kids) != 1 {
		t.Fatalf("children %v", kids)
	}
	return kids[0], line
}

func TestPythonInItsOwnPIDNamespaceHasItsFrames(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			pid, line := launchInPIDNamespace(t, exe, "testdata/chain.py", "sleep", "2")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			k = append(k, k[len(k)-1])
			p, err := loadedcode.Open(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for take, again := 1, true; again && take <= mostTakes; take++ {
				d, err := dump.Sample(p, dump.Options{MaxDepth: -1})
				if err != nil {
					t.Fatal(err)
				}
				again = checkDump(t, "dump", k, d, take == mostTakes)
			}
		})
	}
}

// In a stop between two states of the interpreter a thread has no Python frames (docs/languages.md). Each thread has
// them in another stop, and they are those of the program.
func TestStopsInAPIDNamespaceFindTheThreadsState(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			pid, line := launchInPIDNamespace(t, exe, "testdata/chain.py", "spin", "2")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			k = append(k, k[len(k)-1])
			py := attach(t, pid)
			py.finds = true
			stops, found := 0, map[int]int{} // by thread
			look := func(tid int, s *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
				if s.How != observe.ByStop {
					return
				}
				if stops++; len(stack) == 0 || h != managed.Matched || py.cut {
					return
				}
				found[tid]++
				if msg := k[1:].check(fromForever(stack)); msg != "" {
					t.Errorf("thread %d: %s\n%v", tid, msg, names(stack))
				}
			}
			testtargets.Eventually(t, "each thread is stopped while it has Python frames", func() bool {
				py.looks(t, samplesOf(20), look)
				return len(found) == 3
			})
			t.Logf("%d stops; with Python frames, by thread: %v", stops, found)
		})
	}
}
