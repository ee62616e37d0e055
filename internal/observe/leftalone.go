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
// Some system calls work in the kernel for long and begin again when stopped ([ptrace.Repair], GaveUp): one longer than
// a tick would never end. After such a stop, the thread is not stopped as long as
//
//   - the words around its stack pointer are unchanged, and
//   - it uses no more user than system time.
//
// Neither is a proof. Processor time meanwhile is attributed to the call's stack; other time is unobserved.
//
// After a stop that did harm (an error to the program, or a call that a supervisor gets twice) the thread is left alone
// for a while, each time for twice as long.

const (
	// Presumed processor time of such a call, in ns; doubled each time it is found again.
	aloneLeast = 2e9
	aloneMost  = 64e9
	// Processor time between reads of user time, in ns; that counts ticks of up to 10 ms.
	splitEvery = 40e6
	clockTick  = 10e6 // unit of utime in /proc/PID/stat, ns
	// Time without stops after harm, in ns.
	quietLeast = 100e6
	quietMost  = 100e9
	// Bytes of stack that are compared.
	wordsAround = 2 << 10
)

// leftAlone is the state of a call that gave up.
type leftAlone struct {
	inCall bool // presumed
	sp     frames.Addr
	nr     int64
	words  [wordsAround]byte
	n      int    // of words
	cpu    uint64 // at the stop, ns
	split  uint64 // processor time when user was read, ns
	user   uint64 // clock ticks
	limit  uint64 // processor time, ns

	quiet      int64 // length of the last quiet time, ns; 0: no harm
	quietUntil int64 // CLOCK_MONOTONIC, ns

	left sample.NotStopped
}

// gaveUp notes a stop that made a call give up. Precondition: the stack was copied.
func (t *Thread) gaveUp(s *RawSample, stop *ptrace.Stop) {
	if t.alone == nil {
		t.alone = new(leftAlone)
	}
	a := t.alone
	sp := stop.Regs.SP()
	if a.nr != stop.Nr || a.sp != sp || a.limit == 0 {
		a.limit = aloneLeast / 2
	}
	a.limit = min(2*a.limit, aloneMost)
	a.nr, a.sp, a.cpu, a.n = stop.Nr, sp, stop.Sched.CPU, 0
	if st := &s.Mem.Stack; st.Addr == sp-redZone {
		a.n = copy(a.words[:], st.Bytes)
	}
	a.inCall = a.n > 0
	a.split, a.user = stop.Sched.CPU, t.userTime()
	if stop.Broken || stop.ReportedTwice {
		a.quiet = min(max(2*a.quiet, quietLeast), quietMost)
		a.quietUntil = stop.Detach + a.quiet
	}
}

// harmed reports whether a stop did harm. A supervisor may make the thread's calls, unseen.
func (a *leftAlone) harmed() bool { return a != nil && a.quiet > 0 }

// leftCall notes that the thread was asleep or under job control.
func (a *leftAlone) leftCall() {
	if a != nil {
		a.inCall = false
	}
}

func (t *Thread) leaveAlone() bool {
	a := t.alone
	if a == nil || !a.inCall && a.quietUntil == 0 {
		return false
	}
	now := procmem.Now()
	if a.inCall = a.inCall && t.stillInCall(); a.inCall {
		a.left.InCall = procmem.ReadingAt(t.before, now)
		return true
	}
	if now < a.quietUntil {
		a.left.Other = procmem.ReadingAt(t.before, now)
		return true
	}
	a.quietUntil = 0
	return false
}

func (t *Thread) stillInCall() bool {
	a := t.alone
	cpu := t.before.CPU
	if cpu > a.cpu+a.limit {
		return false
	}
	var words [wordsAround]byte
	n, err := procmem.ReadVM(t.TID, a.sp-redZone, words[:a.n])
	if err != nil || n != a.n || !bytes.Equal(words[:n], a.words[:n]) {
		return false
	}
	if cpu < a.split+splitEvery {
		return true
	}
	user := t.userTime()
	most := (cpu - a.split) / 2
	ran := (user - a.user) * clockTick
	a.split, a.user = cpu, user
	return ran < most
}

// userTime gives clock ticks in user mode; 0 if unreadable.
func (t *Thread) userTime() uint64 {
	var st procmem.Stat
	_ = t.files.Stat(&st)
	return st.UTime
}

// CallName gives the name of this machine's system call by number.
func CallName(nr int64) string { return process.SyscallName(hostArch(), nr) }

// TakeLeft gives, once, the time since the last observation for which the thread was left alone.
func (t *Thread) TakeLeft() sample.NotStopped {
	if t.alone == nil {
		return sample.NotStopped{}
	}
	left := t.alone.left
	t.alone.left = sample.NotStopped{}
	return left
}
