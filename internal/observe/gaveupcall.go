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
// a tick would never end. After such a stop, stops of the thread are suppressed as long as
//
//   - the words around its stack pointer are unchanged, and
//   - it uses no more user than system time.
//
// Neither proves that it is still in the call. Processor time meanwhile is attributed to the call's stack; other time
// is unobserved.
//
// After a stop that did harm (the program gets an error, or a supervisor gets the call twice), stops of the thread are
// suppressed for a time that doubles with each harm.

const (
	// Presumed processor time of such a call, in ns. It doubles each time the same call gives up again.
	leastPresumed = 2e9
	mostPresumed  = 64e9
	// Processor time between reads of the user time, in ns. User time is counted in ticks of up to 10 ms.
	splitEvery = 40e6
	clockTick  = 10e6 // unit of utime in /proc/PID/stat, ns
	// Time without stops after harm, in ns.
	quietLeast = 100e6
	quietMost  = 100e9
	// Bytes of stack around the stack pointer that are compared.
	wordsAround = 2 << 10
)

// gaveUpCall is the state of a thread whose call gave up because of a stop.
type gaveUpCall struct {
	inCall bool // it is presumed to be in the call still
	sp     frames.Addr
	nr     int64
	words  [wordsAround]byte
	n      int    // of words
	cpu    uint64 // processor time at the stop, ns
	split  uint64 // processor time when user was read, ns
	user   uint64 // user time, clock ticks
	limit  uint64 // presumed processor time of the call, ns

	quiet      int64 // length of the last suppression after harm, ns; 0 if no stop did harm
	quietUntil int64 // CLOCK_MONOTONIC, ns

	notStopped sample.NotStopped
}

// gaveUp notes a stop that made a call give up. Precondition: the stack was copied.
func (t *Thread) gaveUp(s *RawSample, stop *ptrace.Stop) {
	if t.gaveUpCall == nil {
		t.gaveUpCall = new(gaveUpCall)
	}
	a := t.gaveUpCall
	sp := stop.Regs.SP()
	if a.nr != stop.Nr || a.sp != sp || a.limit == 0 {
		a.limit = leastPresumed / 2
	}
	a.limit = min(2*a.limit, mostPresumed)
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

// harmed reports whether a stop of the thread did harm. A supervisor may serve the thread's calls, which does not show
// before.
func (a *gaveUpCall) harmed() bool { return a != nil && a.quiet > 0 }

// leftCall notes that the thread has left the call: it was asleep, or stopped by job control.
func (a *gaveUpCall) leftCall() {
	if a != nil {
		a.inCall = false
	}
}

// stopSuppressed reports whether the thread must not be stopped now, and counts the time.
func (t *Thread) stopSuppressed() bool {
	a := t.gaveUpCall
	if a == nil || !a.inCall && a.quietUntil == 0 {
		return false
	}
	now := procmem.Now()
	if a.inCall = a.inCall && t.stillInCall(); a.inCall {
		a.notStopped.InCall = procmem.ReadingAt(t.before, now)
		return true
	}
	if now < a.quietUntil {
		a.notStopped.Other = procmem.ReadingAt(t.before, now)
		return true
	}
	a.quietUntil = 0
	return false
}

// stillInCall reports whether the thread is probably still in the call.
func (t *Thread) stillInCall() bool {
	a := t.gaveUpCall
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

// userTime gives the thread's clock ticks in user mode, 0 if unreadable.
func (t *Thread) userTime() uint64 {
	var st procmem.Stat
	_ = t.files.Stat(&st)
	return st.UTime
}

// CallName gives the name of this machine's system call by number.
func CallName(nr int64) string { return process.SyscallName(hostArch(), nr) }

// TakeNotStopped gives, once, the time since the last observation in which stops were suppressed.
func (t *Thread) TakeNotStopped() sample.NotStopped {
	if t.gaveUpCall == nil {
		return sample.NotStopped{}
	}
	left := t.gaveUpCall.notStopped
	t.gaveUpCall.notStopped = sample.NotStopped{}
	return left
}
