// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

var fibers = []struct {
	library string
	file    string
	flags   []string
}{
	{"ucontext", "", nil},
	{"boost-context", "/usr/lib/*/libboost_context.so.*", []string{"-DBOOST_CONTEXT"}},
	{"state-threads", "/usr/include/st.h", []string{"-DSTATE_THREADS", "-lst"}},
	{"gnu-pth", "/usr/include/pth.h", []string{"-DGNU_PTH", "-lpth"}},
}

var fiberChain = []string{"level", "level", "level", "level", "level", "level", "body"}

func TestStacksOfFibersAgreeWithGdbOrElfutils(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs, and gdb on them")
	}
	testtargets.NeedProgram(t, "gdb")
	testtargets.NeedProgram(t, "eu-stack")
	for _, f := range testtargets.First(fibers) {
		t.Run(f.library, func(t *testing.T) {
			pid := startFibers(t, f.file, f.flags)
			compared := 0
			for n := range testtargets.Times(2, 5) {
				testtargets.Eventually(t, "a fiber was compared that had begun", func() bool { return compareFiber(t, pid) })
				compared = n + 1
			}
			t.Logf("%d fibers compared", compared)
		})
	}
}

func startFibers(t *testing.T, pattern string, flags []string) int {
	t.Helper()
	flags = append([]string{"-O2", "-fno-optimize-sibling-calls", "-fno-ipa-sra", "-fno-inline"}, flags...)
	if pattern != "" {
		found, _ := filepath.Glob(pattern)
		testtargets.Need(t, len(found) > 0, pattern, testtargets.SetUp)
		if strings.Contains(pattern, "/lib/") {
			flags = append(flags, found[0])
		}
	}
	file, err := testtargets.Compile("fibers.c", flags...)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(file)
	testtargets.Ready(t, c)
	return c.Process.Pid
}

// compareFiber returns false if the process was stopped between two fibers.
func compareFiber(t *testing.T, pid int) bool {
	t.Helper()
	before := cpuOf(pid)
	testtargets.Eventually(t, "the fibers have run", func() bool { return cpuOf(pid) != before })
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitStopped(t, pid)
	th := prywalkDump(t, pid).Threads[0]
	eu, gdb := euStacks(t, pid)[th.TID], gdbStacks(t, pid)[th.TID]
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if !th.Complete {
		t.Errorf("incomplete stack, stop reason %s:\n%s", th.StopReason, table(&th, gdb, eu))
	}
	var names []string
	for _, f := range th.Frames {
		names = append(names, f.Function)
	}
	first := slices.Index(names, "body")
	if first < 0 || !testtargets.HasChain(names, fiberChain) {
		return false
	}
	own := pcs(&stacks.Thread{Frames: th.Frames[:first+1]})
	if !hasPrefix(gdb, own) && !hasPrefix(eu, own) {
		t.Errorf("neither gdb nor eu-stack agrees:\n%s", table(&th, gdb, eu))
	}
	return true
}

// cpuOf reads the first thread's time on CPUs (schedstat of proc_pid(5)).
func cpuOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	ns, _, _ := strings.Cut(string(text), " ")
	return ns
}

func hasPrefix(stack, frames []uint64) bool {
	return len(stack) >= len(frames) && slices.Equal(stack[:len(frames)], frames)
}
