// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/testtargets"
)

// TestEveryStepReachesTheRoot steps threads of a busy program through thousands of
// instructions, signal handlers and stack switches among them, and walks after
// each.
func TestEveryStepReachesTheRoot(t *testing.T) {
	everyStep(t, build(t, busy, noCgo, "-ldflags=-s -w"), 1500)
	for _, r := range testtargets.GoReleases(t) {
		t.Run("go"+r, func(t *testing.T) { everyStep(t, build(t, busy, with(r, noCgo...), "-ldflags=-s -w"), 600) })
	}
}

// everyStep steps each thread of a program through so many instructions.
func everyStep(t *testing.T, path string, most int) {
	l := start(t, path)
	steps, through, bad := 0, map[string]int{}, map[string]int{}
	for _, tid := range l.threads() {
		regs, ok := stop(t, tid)
		for n := 0; ok && n < most; n++ {
			steps++
			walkStep(l.tab, l.space, regs, l.mem, through, bad)
			if n%1000 == 500 { // a signal in mid-air
				syscall.Tgkill(l.pid, tid, syscall.SIGUSR1)
			}
			regs, ok = step(tid)
		}
		release(l.pid, tid, ok)
	}
	t.Logf("%d steps; systemstack %d, morestack %d, mcall %d, gogo %d, sigtramp %d, sigreturn %d, direct calls %d", steps,
		through["runtime.systemstack"],
		through["runtime.morestack"], through["runtime.mcall"], through["gogo"], through["runtime.sigtramp"],
		through["runtime.sigreturn__sigaction"], through["(direct call)"])
	for s, n := range bad {
		t.Errorf("%d times %s", n, s)
	}
}

// walkStep walks one stack and notes how it fails.
func walkStep(tab *Table, space *frames.Space, regs *frames.Regs, mem frames.Memory, through, bad map[string]int) {
	var w frames.Walker
	w.Init(space, regs, mem)
	var names []string
	var callee fn
	for w.Next() {
		fr := w.Frame()
		if fr.Module == nil {
			return // the vDSO
		}
		fn, _ := tab.find(fr.Lookup(frames.X86_64))
		if target, ok := tab.callBeforeX86(fr.PC); fr.Caller && ok && callee.entry != 0 {
			// What was called must be what was found running, or
			// assembly or a wrapper of the same name that jumps to it. Releases before 1.17 do not mark assembly;
			// systemstack jumps where the thread is on that stack already.
			to, _ := tab.find(target)
			jumps := []string{string(tab.name(&callee)), "runtime.morestack_noctxt", "runtime.systemstack"}
			if to.flag&flagAsm == 0 && !slices.Contains(jumps, string(tab.name(&to))) {
				bad[fmt.Sprintf("%s called %s, not %s", tab.name(&fn), tab.name(&to), tab.name(&callee))]++
			}
			through["(direct call)"]++
		}
		callee = fn
		names = append(names, fmt.Sprintf("%s+%#x", tab.name(&fn), fr.PC-fn.entry))
		through[string(tab.name(&fn))]++
	}
	// While a handler makes the interrupted code call asyncPreempt, the context's stack pointer is that of the call
	// already, and its program counter is not (runtime/signal_amd64.go, pushCall). Nobody is the caller.
	pushing := len(names) > 0 && strings.HasPrefix(names[0], "runtime.doSigPreempt+") &&
		w.StopReason() == frames.StopNoRule
	if w.StopReason() != frames.StopRoot && !pushing {
		bad[w.StopReason().String()+": "+strings.Join(names, " < ")]++
	}
}

// release detaches from a thread, which it stops first if it fell asleep: one
// that dies attached would have to be waited for.
func release(pid, tid int, stopped bool) {
	if !stopped {
		var ws syscall.WaitStatus
		syscall.Tgkill(pid, tid, syscall.SIGSTOP)
		syscall.Wait4(tid, &ws, syscall.WALL, nil)
	}
	syscall.PtraceDetach(tid)
}

// step runs one instruction of a stopped thread; false where it ends or sleeps.
func step(tid int) (*frames.Regs, bool) {
	if syscall.PtraceSingleStep(tid) != nil {
		return nil, false
	}
	// On a busy machine it can take long until it runs; one that sleeps says so.
	for n := 0; n < 200 || !asleep(tid) && n < 100_000; n++ {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(tid, &ws, syscall.WALL|syscall.WNOHANG, nil)
		if err != nil || got == tid && !ws.Stopped() {
			return nil, false
		}
		if got == tid {
			if sig := ws.StopSignal(); sig != syscall.SIGTRAP && sig != syscall.SIGSTOP {
				// Deliver it: the step that is asked for next enters the
				// handler.
				return deliver(tid, sig)
			}
			return readRegs(tid)
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil, false
}

// asleep reports whether a thread sleeps.
func asleep(tid int) bool {
	var st procmem.Stat
	return procmem.ReadStat(tid, &st) != nil || st.State == 'S' || st.State == 'D'
}

// deliver single-steps with a signal, which puts the thread at the first
// instruction of its handler.
func deliver(tid int, sig syscall.Signal) (*frames.Regs, bool) {
	const ptraceSingleStep = 9
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PTRACE, ptraceSingleStep, uintptr(tid), 0, uintptr(sig), 0, 0); e != 0 {
		return nil, false
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(tid, &ws, syscall.WALL, nil); err != nil || !ws.Stopped() {
		return nil, false
	}
	return readRegs(tid)
}
