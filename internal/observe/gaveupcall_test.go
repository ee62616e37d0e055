// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/loadedcode"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func spinning(t *testing.T) *Thread {
	t.Helper()
	cmd := exec.Command("sh", "-c", "echo ready; while :; do :; done")
	testtargets.Ready(t, cmd) // before, the pages that [still] gives may not be in memory
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(0))
	t.Cleanup(th.Close)
	return th
}

// inCall makes a stop of the thread one that made a call give up, with the present words at an address.
func (t *Thread) inCall(tb *testing.T, at frames.Addr, broken bool) {
	tb.Helper()
	t.clocks(tb)
	words := make([]byte, wordsAround)
	n, err := procmem.ReadVM(t.TID, at-redZone, words)
	if err != nil || n == 0 {
		tb.Fatal(n, err)
	}
	stop := ptrace.Stop{Nr: 321, Sched: t.lastClocks, Repair: ptrace.Repair{Broken: broken},
		Times: ptrace.Times{Detach: procmem.Now()}}
	stop.Regs.Arch = hostArch()
	stop.Regs.Set(hostArch().SP(), at)
	t.noteGaveUp(frames.Region{Addr: at - redZone, Bytes: words[:n]}, &stop)
}

func (t *Thread) clocks(tb *testing.T) {
	tb.Helper()
	var err error
	if t.lastClocks, err = t.files.SchedStat(); err != nil {
		tb.Fatal(err)
	}
}

// still returns the address of the program's ELF header, which is not written.
func still(t *testing.T, pid int) frames.Addr {
	t.Helper()
	var at frames.Addr
	for end := time.Now().Add(time.Minute); at == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range text {
			switch {
			case c >= '0' && c <= '9':
				at = at<<4 | frames.Addr(c-'0')
			case c >= 'a' && c <= 'f':
				at = at<<4 | frames.Addr(c-'a'+10)
			default:
				return at + redZone
			}
		}
	}
	return at
}

func TestAThreadIsLeftAloneUntilItHasLeftTheCall(t *testing.T) {
	th := spinning(t)
	at := still(t, th.PID)
	if th.trySuppressStop() {
		t.Error("stops suppressed, though none has made a call give up")
	}
	// Unchanged words, but user time.
	th.inCall(t, at, false)
	if !th.trySuppressStop() {
		t.Error("not left alone in a call")
	}
	if left := th.TakeNotStopped(); left.InCall.Wall == 0 || left.Other.Wall != 0 ||
		th.TakeNotStopped() != (sample.NotStopped{}) {
		t.Errorf("%+v", left)
	}
	begun := th.lastClocks.CPU
	for end := time.Now().Add(4 * time.Minute); th.trySuppressStop(); th.clocks(t) {
		if time.Now().After(end) {
			t.Fatal("left alone for ever, though it computes")
		}
	}
	if ran := th.lastClocks.CPU - begun; ran < splitEvery || ran >= minPresumed {
		t.Errorf("left alone for %v of processor time", time.Duration(ran))
	}
	th.inCall(t, at, false)
	th.gaveUpCall.words[0]++
	if th.trySuppressStop() {
		t.Error("left alone, though what is around its stack pointer has changed")
	}
	// Asleep.
	th.inCall(t, at, false)
	if th.gaveUpCall.noteLeftCall(); th.trySuppressStop() {
		t.Error("left alone, though it has slept")
	}
}

// TestACallThatGaveUpInALostStopIsLeftAlone until its thread has left it: nothing was copied in the stop.
func TestACallThatGaveUpInALostStopIsLeftAlone(t *testing.T) {
	th := spinning(t)
	at := still(t, th.PID)
	proc, err := loadedcode.Open(th.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	th.Memory = proc.Memory()
	OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		l := New(ctl, NewPool(4), ModeAuto)
		defer l.Close()
		for _, broken := range []bool{false, true} {
			th.clocks(t)
			l.stop = ptrace.Stop{Nr: 321, Sched: th.lastClocks, Repair: ptrace.Repair{RepeatsWork: true, Broken: broken},
				Times: ptrace.Times{Detach: procmem.Now()}}
			l.stop.Regs.Arch = hostArch()
			l.stop.Regs.Set(hostArch().SP(), at)
			if err := l.noteLostStop(th); !errors.Is(err, refusal.MapLock) {
				t.Errorf("%v, want that the lock was held", err)
			}
			if !th.trySuppressStop() || th.TakeNotStopped().InCall.Wall == 0 || th.gaveUpCall.wasHarmed() != broken {
				t.Errorf("broken: %v; not left alone in the call: %+v", broken, th.gaveUpCall)
			}
		}
		l.stop.Repair = ptrace.Repair{}
		if _ = l.noteLostStop(th); th.gaveUpCall.inCall {
			t.Error("left alone in a call, though it was stopped in another place")
		}
	})
}

func TestPresumedTimeOfACallDoublesEachTime(t *testing.T) {
	th := spinning(t)
	at := still(t, th.PID)
	for want := uint64(minPresumed); want < 4*maxPresumed; want *= 2 {
		th.inCall(t, at, false)
		if th.gaveUpCall.presumedCPU != min(want, maxPresumed) {
			t.Errorf("limit %d, want %d", th.gaveUpCall.presumedCPU, want)
		}
		th.lastClocks.CPU = th.gaveUpCall.cpu + th.gaveUpCall.presumedCPU + 1
		if th.trySuppressStop() {
			t.Error("left alone beyond the limit")
		}
	}
	th.inCall(t, at+16, false)
	if th.gaveUpCall.presumedCPU != minPresumed {
		t.Errorf("limit %d in another place", th.gaveUpCall.presumedCPU)
	}
}

func TestAThreadThatWasHarmedIsLeftAloneForTwiceAsLongEachTime(t *testing.T) {
	th := spinning(t)
	at := still(t, th.PID)
	for want := int64(minQuiet); want < 4*maxQuiet; want *= 2 {
		th.inCall(t, at, true)
		th.gaveUpCall.noteLeftCall()
		if got := th.gaveUpCall.suppressUntil; got < procmem.Now() && want > 1e9 || th.gaveUpCall.suppressFor != min(want,
			maxQuiet) {
			t.Errorf("quiet for %d, want %d", th.gaveUpCall.suppressFor, want)
		}
	}
	if !th.trySuppressStop() || !th.gaveUpCall.wasHarmed() {
		t.Error("not left alone after harm")
	}
	if left := th.TakeNotStopped(); left.InCall.Wall != 0 || left.Other.Wall == 0 {
		t.Errorf("%+v", left)
	}
	th.gaveUpCall.suppressUntil = 1
	if th.trySuppressStop() {
		t.Error("left alone for longer than that")
	}
}
