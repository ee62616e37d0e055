// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// # Threads that are left alone
//
// Some system calls work in the kernel for long and give up as soon as their thread is to stop (package ptrace,
// Stop.GaveUp). What begins again does all its work over, and one that takes longer than it is from tick to tick
// never ends. That a thread is in such a call shows at a stop only, when it is too late, and so does that it is not
// any more. So after such a stop the thread is not stopped again while two things hold that nobody has to be stopped
// for. The words around its stack pointer are as they were: functions that are called after the call change them. And
// the kernel charges it with no more user than system time. Neither is a proof. It decides whether the thread is
// looked at, and to which stack the time is booked that it used meanwhile: to the call's. What else it used while it
// was left alone is not observed.
//
// Where a look has done harm, the program got an error, or another one was told of the call twice. Then the thread is
// besides left alone for a while, each time for twice as long. It may be in such calls most of its time.

const (
	// aloneLeast is for how much processor time a thread is taken to be in the same call, in nanoseconds. If it is
	// found in it all the same, it is twice as much, up to aloneMost: the call may end so in the end.
	aloneLeast = 2e9
	aloneMost  = 64e9
	// splitEvery is after how much processor time the kernel's division into user and system time is asked for, in
	// nanoseconds. It counts whole scheduler ticks, of up to 10 ms.
	splitEvery = 40e6
	clockTick  = 10e6 // of utime in /proc/PID/stat, nanoseconds
	// quietLeast and quietMost bound for how long a thread is left alone after a look did harm, in nanoseconds.
	quietLeast = 100e6
	quietMost  = 100e9
	// wordsAround is how many bytes of the stack are compared, redZone of them below the stack pointer.
	wordsAround = 2 << 10
)

// leftAlone is what is known of a call that a look made give up.
type leftAlone struct {
	inCall bool // it goes on, as far as can be told
	sp     frames.Addr
	nr     int64
	words  [wordsAround]byte
	n      int    // of words
	cpu    uint64 // the thread's processor time at the stop, ns
	split  uint64 // its processor time when user was read
	user   uint64 // clock ticks
	limit  uint64 // for how much processor time the call is believed in, ns

	quiet      int64 // how long the thread was last left alone because of harm, ns; 0: there was none
	quietUntil int64 // CLOCK_MONOTONIC, ns

	left sample.LeftAlone
}

// gaveUp takes note of a stop that made a call give up, whose stack was copied.
func (t *Thread) gaveUp(s *Shot, stop *ptrace.Stop) {
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
	if stop.Broken || stop.Told {
		a.quiet = min(max(2*a.quiet, quietLeast), quietMost)
		a.quietUntil = stop.Detach + a.quiet
	}
}

// harmed reports whether a look at the thread has done harm: somebody may make its calls in its stead, of which its
// sleep in a call does not tell.
func (t *Thread) harmed() bool { return t.alone != nil && t.alone.quiet > 0 }

// leftCall takes note that the thread is not at work in that call any more: it was found asleep, or stopped.
func (t *Thread) leftCall() {
	if t.alone != nil {
		t.alone.inCall = false
	}
}

// leaveAlone reports whether a thread that runs is not to be stopped.
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

// stillInCall reports whether nothing shows that the thread has left the call that gave up.
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

// userTime gives the thread's time in user mode, in clock ticks, as far as it can be read.
func (t *Thread) userTime() uint64 {
	var st procmem.Stat
	_ = t.files.Stat(&st) // zero if it has ended
	return st.UTime
}

// CallName gives the name of a system call of this machine by its number.
func CallName(nr int64) string { return process.SyscallName(hostArch(), nr) }

// TakeLeft gives what there is to tell of the time since the last look, once: for a thread that is looked at no more.
func (t *Thread) TakeLeft() sample.LeftAlone {
	if t.alone == nil {
		return sample.LeftAlone{}
	}
	left := t.alone.left
	t.alone.left = sample.LeftAlone{}
	return left
}
