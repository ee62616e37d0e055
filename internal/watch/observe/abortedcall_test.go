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
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

func spinning(t *testing.T) *Thread {
	t.Helper()
	cmd := exec.Command("sh", "-c", "echo ready; while :; do :; done")
	testtargets.Ready(t, cmd)
	th := NewThread(cmd.Process.Pid, cmd.Process.Pid, procmem.NewFDBudget(0))
	t.Cleanup(th.Close)
	return th
}

// inCall makes the last stop one that has aborted a call, with the present words at an address.
func (t *Thread) inCall(tb *testing.T, at frames.Addr, broken bool) {
	tb.Helper()
	t.readClocksNow(tb)
	words := make([]byte, wordsAround)
	n, err := procmem.ReadVM(t.ID.TID, at-redZone, words)
	if err != nil || n == 0 {
		tb.Fatal(n, err)
	}
	stop := ptrace.Stop{Nr: 321, Sched: t.clocks, Repair: ptrace.Repair{Broken: broken},
		Times: ptrace.Times{DetachedAt: ptrace.Now()}}
	stop.Regs.Arch = process.HostArch()
	stop.Regs.Set(process.HostArch().SP(), at)
	t.recordAborted(frames.Region{Addr: at - redZone, Bytes: words[:n]}, &stop)
}

func (t *Thread) readClocksNow(tb *testing.T) {
	tb.Helper()
	var err error
	if t.clocks, err = t.files.SchedStat(); err != nil {
		tb.Fatal(err)
	}
}

// still returns the address of the program's ELF header, which nothing writes.
func still(t *testing.T, pid int) frames.Addr {
	t.Helper()
	var text []byte
	testtargets.Eventually(t, "the program is mapped", func() bool {
		var err error
		if text, err = os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps"); err != nil {
			t.Fatal(err)
		}
		return len(text) > 0
	})
	var at frames.Addr
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
	return at
}

func TestAThreadIsLeftAloneUntilItHasLeftTheCall(t *testing.T) {
	th := spinning(t)
	at := still(t, th.ID.PID)
	if th.trySuppressStop() {
		t.Error("stops suppressed, though none has aborted a call")
	}
	// the user time has grown
	th.inCall(t, at, false)
	if !th.trySuppressStop() {
		t.Error("stopped in a call")
	}
	if left := th.TakeNotStopped(); left.InCall.Wall == 0 || left.Other.Wall != 0 ||
		th.TakeNotStopped() != (sample.NotStopped{}) {
		t.Errorf("%+v", left)
	}
	begun := time.Duration(th.clocks.CPU)
	for end := time.Now().Add(4 * time.Minute); th.trySuppressStop(); th.readClocksNow(t) {
		if time.Now().After(end) {
			t.Fatal("never stopped, though it computes")
		}
	}
	if ran := time.Duration(th.clocks.CPU) - begun; ran < userReadEvery || ran >= minPresumed {
		t.Errorf("not stopped for %v of CPU time", ran)
	}
	th.inCall(t, at, false)
	th.abortedCall.words[0]++
	if th.trySuppressStop() {
		t.Error("not stopped, though what is around its stack pointer has changed")
	}
	th.inCall(t, at, false)
	stop := ptrace.Stop{Nr: 321, Sched: th.clocks}
	stop.Regs.Arch = process.HostArch()
	stop.Regs.Set(process.HostArch().SP(), at)
	th.recordAborted(frames.Region{Addr: at - 16, Bytes: make([]byte, 64)}, &stop)
	if call := th.abortedCall; call.wordCount != 64 || call.wordsAt != at-16 {
		t.Errorf("%d bytes at %#x are compared, want the copied ones", call.wordCount, call.wordsAt)
	}
	// No page may be waited for: only what [procmem.Memory] reads is compared.
	th.inCall(t, at, false)
	if th.Memory = (&procmem.Memory{}); th.trySuppressStop() {
		t.Error("words were read past the process's memory, which may wait")
	}
	th.Memory = nil
	th.inCall(t, at, false)
	if th.abortedCall.markLeft(); th.trySuppressStop() {
		t.Error("not stopped, though it has slept")
	}
}

// Nothing was copied in the stop.
func TestACallAbortedByALostStopIsLeftAlone(t *testing.T) {
	th := spinning(t)
	at := still(t, th.ID.PID)
	proc, err := loadedcode.Open(th.ID.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	th.Memory = proc.Memory()
	observing(NewPool(4), ModeAuto, func(o *Observer) {
		for _, broken := range []bool{false, true} {
			th.readClocksNow(t)
			o.Stops.stop = ptrace.Stop{Nr: 321, Sched: th.clocks, Repair: ptrace.Repair{RepeatsWork: true, Broken: broken},
				Times: ptrace.Times{DetachedAt: ptrace.Now()}}
			o.Stops.stop.Regs.Arch = process.HostArch()
			o.Stops.stop.Regs.Set(process.HostArch().SP(), at)
			if err := o.Stops.discardStopWithLateRead(th); !errors.Is(err, errs.MapLock) {
				t.Errorf("%v, want that the lock was held", err)
			}
			if !th.trySuppressStop() || th.TakeNotStopped().InCall.Wall == 0 || th.abortedCall.wasHarmed() != broken {
				t.Errorf("broken: %v; stopped in the call: %+v", broken, th.abortedCall)
			}
		}
		o.Stops.stop.Repair = ptrace.Repair{}
		if _ = o.Stops.discardStopWithLateRead(th); th.abortedCall.inCall {
			t.Error("not stopped in a call, though it was stopped in another place")
		}
	})
}

func TestPresumedTimeOfACallDoublesEachTime(t *testing.T) {
	th := spinning(t)
	at := still(t, th.ID.PID)
	for want := minPresumed; want < 4*maxPresumed; want *= 2 {
		th.inCall(t, at, false)
		if th.abortedCall.presumedCPU != min(want, maxPresumed) {
			t.Errorf("limit %d, want %d", th.abortedCall.presumedCPU, want)
		}
		th.clocks.CPU = uint64(th.abortedCall.cpu + th.abortedCall.presumedCPU + 1)
		if th.trySuppressStop() {
			t.Error("not stopped beyond the limit")
		}
	}
	th.inCall(t, at+16, false)
	if th.abortedCall.presumedCPU != minPresumed {
		t.Errorf("limit %d in another place", th.abortedCall.presumedCPU)
	}
}

func TestAThreadThatWasHarmedIsLeftAloneForTwiceAsLongEachTime(t *testing.T) {
	th := spinning(t)
	at := still(t, th.ID.PID)
	for want := minSuppressed; want < 4*maxSuppressed; want *= 2 {
		th.inCall(t, at, true)
		th.abortedCall.markLeft()
		if got := th.abortedCall.suppressUntil; got < ptrace.Now() && want > 1e9 || th.abortedCall.suppressFor != min(want,
			maxSuppressed) {
			t.Errorf("stops are suppressed for %d, want %d", th.abortedCall.suppressFor, want)
		}
	}
	if !th.trySuppressStop() || !th.abortedCall.wasHarmed() {
		t.Error("stopped after harm")
	}
	if left := th.TakeNotStopped(); left.InCall.Wall != 0 || left.Other.Wall == 0 {
		t.Errorf("%+v", left)
	}
	th.abortedCall.suppressUntil = 1
	if th.trySuppressStop() {
		t.Error("not stopped for longer than that")
	}
}
