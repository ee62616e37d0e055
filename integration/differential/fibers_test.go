// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/dump/stacks"
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
	for _, f := range fibers {
		t.Run(f.library, func(t *testing.T) {
			pid := startFibers(t, f.file, f.flags)
			compared := 0
			for range 5 {
				compared += compareFiber(t, pid)
			}
			if compared == 0 {
				t.Error("no fiber was compared")
			}
		})
	}
}

func startFibers(t *testing.T, pattern string, flags []string) int {
	t.Helper()
	flags = append([]string{"-O2", "-fno-optimize-sibling-calls", "-fno-ipa-sra", "-fno-inline"}, flags...)
	if pattern != "" {
		found, _ := filepath.Glob(pattern)
		if len(found) == 0 {
			t.Skipf("%s is not installed: run make setup", pattern)
		}
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

func compareFiber(t *testing.T, pid int) int {
	t.Helper()
	time.Sleep(3 * time.Millisecond)
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
		return 0 // stopped between two fibers
	}
	own := pcs(&stacks.Thread{Frames: th.Frames[:first+1]})
	if !hasPrefix(gdb, own) && !hasPrefix(eu, own) {
		t.Errorf("neither gdb nor eu-stack agrees:\n%s", table(&th, gdb, eu))
	}
	return 1
}

func hasPrefix(stack, frames []uint64) bool {
	return len(stack) >= len(frames) && slices.Equal(stack[:len(frames)], frames)
}
