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
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func TestEveryStepReachesTheRoot(t *testing.T) {
	everyStep(t, build(t, busy, noCgo, "-ldflags=-s -w"), testtargets.Times(500, 1500))
	for _, r := range olderReleases(t) {
		t.Run("go"+r, func(t *testing.T) { everyStep(t, build(t, busy, with(r, noCgo...), "-ldflags=-s -w"), 600) })
	}
}

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

func walkStep(tab *Table, space *frames.Space, regs *frames.Regs, mem frames.Memory, through, bad map[string]int) {
	var w frames.Walker
	w.Init(space, regs, mem)
	var names []string
	var callee funcInfo
	for w.Next() {
		fr := w.Frame()
		if fr.Module == nil {
			return
		}
		fn, _ := tab.find(fr.LookupPC(frames.X86_64))
		if target, ok := tab.callBeforeX86(fr.PC); fr.AfterCall && ok && callee.entry != 0 {
			// Assembly and wrappers may share a name; assembly may jump.
			to, _ := tab.find(target)
			jumps := []string{string(tab.name(&callee))}
			if to.flag&flagAsm == 0 && !slices.Contains(jumps, string(tab.name(&to))) {
				bad[fmt.Sprintf("%s called %s, not %s", tab.name(&fn), tab.name(&to), tab.name(&callee))]++
			}
			through["(direct call)"]++
		}
		callee = fn
		names = append(names, fmt.Sprintf("%s+%#x", tab.name(&fn), fr.PC-fn.entry))
		through[string(tab.name(&fn))]++
	}
	// During pushCall (runtime/signal_amd64.go) the context has the old pc.
	pushing := len(names) > 0 && strings.HasPrefix(names[0], "runtime.doSigPreempt+") &&
		w.StopReason() == frames.StopNoRule
	if w.StopReason() != frames.StopRoot && !pushing {
		bad[w.StopReason().String()+": "+strings.Join(names, " < ")]++
	}
}

func release(pid, tid int, stopped bool) {
	if !stopped {
		var ws syscall.WaitStatus
		syscall.Tgkill(pid, tid, syscall.SIGSTOP)
		syscall.Wait4(tid, &ws, syscall.WALL, nil)
	}
	syscall.PtraceDetach(tid)
}

func step(tid int) (*frames.Regs, bool) {
	if syscall.PtraceSingleStep(tid) != nil {
		return nil, false
	}
	for n := 0; n < 200 || !asleep(tid) && n < 100_000; n++ {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(tid, &ws, syscall.WALL|syscall.WNOHANG, nil)
		if err != nil || got == tid && !ws.Stopped() {
			return nil, false
		}
		if got == tid {
			if sig := ws.StopSignal(); sig != syscall.SIGTRAP && sig != syscall.SIGSTOP {
				return deliver(tid, sig)
			}
			return readRegs(tid)
		}
		time.Sleep(100 * time.Microsecond) // between two queries of the state
	}
	return nil, false
}

func asleep(tid int) bool {
	var st procmem.Stat
	return procmem.ReadStat(tid, &st) != nil || st.State == 'S' || st.State == 'D'
}

// deliver stops at the first instruction of the handler.
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
