// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// # Calls that give up at each stop
//
// Some system calls begin again after a stop ([ptrace.Repair.RepeatsWork]): one longer than a tick would never end.
// Stops of the thread are then suppressed while the words around its stack pointer are unchanged and it uses no more
// user than system time, which proves nothing. CPU time meanwhile is attributed to the call's stack; other time is
// unobserved. After harm (the program gets an error, or a supervisor gets the call twice), stops are suppressed for a
// time that doubles with each harm.

const (
	// Assumed CPU time of such a call, in ns. It doubles each time the same call gives up again.
	minPresumed = 2e9
	maxPresumed = 64e9
	splitEvery  = 40e6 // CPU time between reads of the user time, ns
	clockTick   = 10e6 // unit of utime in /proc/PID/stat, ns
	minQuiet    = 100e6
	maxQuiet    = 100e9   // time without stops after harm, ns
	wordsAround = 2 << 10 // compared bytes of stack
)

// gaveUpCall is the last call that gave up because of a stop.
type gaveUpCall struct {
	inCall      bool // assumed to be in the call still
	sp          frames.Addr
	nr          int64
	words       [wordsAround]byte
	wordCount   int    // of words; 0: they are read when it is first asked whether the thread is in the call
	cpu         uint64 // at the stop, ns
	userReadAt  uint64 // CPU time when userTicks was read, ns
	userTicks   uint64
	presumedCPU uint64 // assumed CPU time of the call, ns

	suppressFor   int64 // last suppression after harm, ns; 0 without harm
	suppressUntil int64 // CLOCK_MONOTONIC, ns
}

// noteStopInCall notes whether a stop made a call give up. stack is what was copied in it; empty: nothing.
func (t *Thread) noteStopInCall(stack frames.Region, stop *ptrace.Stop) {
	t.gaveUpCall.noteLeftCall()
	if stop.RepeatsWork {
		t.noteGaveUp(stack, stop)
	}
}

func (t *Thread) noteGaveUp(stack frames.Region, stop *ptrace.Stop) {
	if t.gaveUpCall == nil {
		t.gaveUpCall = new(gaveUpCall)
	}
	g := t.gaveUpCall
	sp := stop.Regs.SP()
	if g.nr != stop.Nr || g.sp != sp || g.presumedCPU == 0 {
		g.presumedCPU = minPresumed / 2
	}
	g.presumedCPU = min(2*g.presumedCPU, maxPresumed)
	g.nr = stop.Nr
	g.sp = sp
	g.cpu = stop.Sched.CPU
	g.wordCount = 0
	if stack.Addr == sp-redZone {
		g.wordCount = copy(g.words[:], stack.Bytes)
	}
	g.inCall = true
	g.userReadAt, g.userTicks = stop.Sched.CPU, t.userTime()
	if stop.Broken || stop.ReportedTwice {
		g.suppressFor = min(max(2*g.suppressFor, minQuiet), maxQuiet)
		g.suppressUntil = stop.Detach + g.suppressFor
	}
}

// wasHarmed reports whether a stop did harm. Nothing else shows a supervisor of the thread's calls.
func (g *gaveUpCall) wasHarmed() bool { return g != nil && g.suppressFor > 0 }

func (g *gaveUpCall) noteLeftCall() {
	if g != nil {
		g.inCall = false
	}
}

// trySuppressStop reports whether the thread must not be stopped now, and updates notStopped.
func (t *Thread) trySuppressStop() bool {
	g := t.gaveUpCall
	if g == nil || !g.inCall && g.suppressUntil == 0 {
		return false
	}
	now := procmem.Now()
	g.inCall = g.inCall && t.checkStillInCall()
	if g.inCall {
		t.notStopped.InCall = procmem.ReadingAt(t.lastClocks, now)
		return true
	}
	if now < g.suppressUntil {
		t.notStopped.Other = procmem.ReadingAt(t.lastClocks, now)
		return true
	}
	g.suppressUntil = 0
	return false
}

func (t *Thread) checkStillInCall() bool {
	g := t.gaveUpCall
	cpu := t.lastClocks.CPU
	if cpu > g.cpu+g.presumedCPU {
		return false
	}
	if g.wordCount == 0 { // after a lost stop: the first words to compare with
		if t.Memory != nil { // not by ReadVM, as pages may be missing
			g.wordCount = t.Memory.Copy(t.TID, g.sp-redZone, g.words[:])
		}
		if g.wordCount == 0 {
			return false
		}
	} else if !t.hasSameWords() {
		return false
	}
	if cpu < g.userReadAt+splitEvery {
		return true
	}
	user := t.userTime()
	most := (cpu - g.userReadAt) / 2
	ran := (user - g.userTicks) * clockTick
	g.userReadAt, g.userTicks = cpu, user
	return ran < most
}

// hasSameWords compares the words around the stack pointer with those of the stop.
func (t *Thread) hasSameWords() bool {
	g := t.gaveUpCall
	var words [wordsAround]byte
	n, err := procmem.ReadVM(t.TID, g.sp-redZone, words[:g.wordCount])
	return err == nil && n == g.wordCount && bytes.Equal(words[:n], g.words[:n])
}

// userTime returns clock ticks, 0 if unreadable.
func (t *Thread) userTime() uint64 {
	var st procmem.Stat
	_ = t.files.Stat(&st)
	return st.UTime
}

// CallName returns a system call's name on this machine.
func CallName(nr int64) string { return process.SyscallName(hostArch(), nr) }

// TakeNotStopped returns and resets how the thread was not stopped since its last observation.
func (t *Thread) TakeNotStopped() (n sample.NotStopped) {
	n, t.notStopped = t.notStopped, n
	return n
}
