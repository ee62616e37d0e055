// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
)

// interruptible reports whether a stop has no effect on a sleeper's system call: the kernel resumes it with its
// time-out (kernel/signal.c; signal(7)), or package ptrace restarts it, and no memory changes.
func interruptible(t *Thread, call *procmem.SyscallInfo) bool {
	if call.Nr < 0 {
		return false // in a page fault, or entering the call
	}
	b, ok := interruptRules[process.SyscallName(hostArch(), call.Nr)]
	return ok && (hostArch() != frames.AArch64 || !b.repaired) && b.holds(t, call)
}

// Interruptible reports whether a stop has no effect on a sleeper's system call. For tests and measurements.
func Interruptible(t *Thread, call *procmem.SyscallInfo) bool { return interruptible(t, call) }

// InterruptRule gives, for docs/system-calls.md, when a thread that sleeps in a system call may be stopped; empty:
// never. repaired calls may be stopped on x86-64 only.
func InterruptRule(name string) (when string, repaired bool) {
	b := interruptRules[name]
	return b.when, b.repaired
}

type interruptRule struct {
	when  string
	holds func(*Thread, *procmem.SyscallInfo) bool
	// repaired: the call gives EINTR, and package ptrace restarts it; not on arm64 (package ptrace, Look.Sleeping).
	repaired bool
}

// interruptRules has all calls whose sleepers may be stopped (docs/system-calls.md). Others write memory when
// interrupted, lose events, or have done a part.
var interruptRules = map[string]interruptRule{
	"futex":           {when: "`FUTEX_WAIT`, `FUTEX_WAIT_BITSET`", holds: futexOnlyWaits},
	"poll":            {when: "array in own frames", holds: arrayIsOwn},
	"ppoll":           {when: "array in own frames, no time-out, no mask", holds: ppollIsPlain},
	"select":          {when: "no time-out", holds: selectIsPlain},
	"pselect6":        {when: "no time-out, no mask", holds: pselectIsPlain},
	"nanosleep":       {when: "no place for the rest", holds: nothingIsLeft},
	"clock_nanosleep": {when: "no place for the rest, or until a moment in own frames", holds: clockSleeps},
	"wait4":           {when: "not for the caller's group", holds: waitsForOthers},
	"waitid":          {when: "siginfo in own frames, not for the caller's group", holds: waitidIsOwn},
	"msgrcv":          {when: "always", holds: alwaysInterruptible},
	"pause":           {when: "always", holds: alwaysInterruptible},
	"epoll_wait":      {when: "no time-out", holds: epollForEver, repaired: true},
	"epoll_pwait":     {when: "no time-out, no mask", holds: epollNoMask, repaired: true},
	"epoll_pwait2":    {when: "no time-out, no mask", holds: epollPlain2, repaired: true},
	"read":            {when: plainFiles, holds: plainRead},
	"readv":           {when: plainFiles, holds: plainRead},
}

// futexOnlyWaits: requeuing and inheritance may give EAGAIN (kernel/futex/requeue.c). A time-out is kept as a moment
// (kernel/futex/waitwake.c, futex_wait).
func futexOnlyWaits(_ *Thread, call *procmem.SyscallInfo) bool {
	const flags, wait, waitBitset = 128 | 256, 0, 9
	op := uint32(call.Args[1]) &^ flags
	return op == wait || op == waitBitset
}

// arrayIsOwn: revents is written at each interruption (fs/select.c, do_sys_poll). poll keeps its time-out as a moment.
func arrayIsOwn(_ *Thread, call *procmem.SyscallInfo) bool {
	n := uint64(uint32(call.Args[1]))
	return n == 0 || own(call, call.Args[0], 8*n)
}

// ppollIsPlain: the rest of a time-out is written, which prolongs it, or the call gives EINTR (fs/select.c,
// poll_select_finish). During a restart with a mask, blocked signals arrive.
func ppollIsPlain(t *Thread, call *procmem.SyscallInfo) bool {
	return arrayIsOwn(t, call) && call.Args[2] == 0 && call.Args[3] == 0
}

// selectIsPlain: as ppoll; the descriptor sets are not written (fs/select.c, core_sys_select).
func selectIsPlain(_ *Thread, call *procmem.SyscallInfo) bool { return call.Args[4] == 0 }

// pselectIsPlain: the mask is behind a pointer, which the C library always gives.
func pselectIsPlain(t *Thread, call *procmem.SyscallInfo) bool {
	at := call.Args[5]
	return call.Args[4] == 0 && (at == 0 || own(call, at, 8) && wordIsZero(t.TID, at))
}

// nothingIsLeft: the rest of the time is written at each interruption (kernel/time/hrtimer.c, do_nanosleep).
func nothingIsLeft(_ *Thread, call *procmem.SyscallInfo) bool { return call.Args[1] == 0 }

// clockSleeps: an absolute sleep reads its moment again. CPU-time and alarm clocks differ.
func clockSleeps(_ *Thread, call *procmem.SyscallInfo) bool {
	const realtime, monotonic, boottime, tai, untilMoment = 0, 1, 7, 11, 1
	switch call.Args[0] {
	case realtime, monotonic, boottime, tai:
		if call.Args[1]&untilMoment != 0 {
			return own(call, call.Args[2], 16)
		}
		return call.Args[3] == 0
	}
	return false
}

// waitsForOthers: the caller's group is read when the call begins (kernel/exit.c, kernel_wait4).
func waitsForOthers(_ *Thread, call *procmem.SyscallInfo) bool { return int32(call.Args[0]) != 0 }

// waitidIsOwn: siginfo is written at each interruption (kernel/exit.c, waitid).
func waitidIsOwn(_ *Thread, call *procmem.SyscallInfo) bool {
	const ofGroup = 2
	if int32(call.Args[0]) == ofGroup && int32(call.Args[1]) == 0 {
		return false
	}
	return call.Args[2] == 0 || own(call, call.Args[2], 128)
}

// alwaysInterruptible: ipc/msg.c, do_msgrcv; kernel/signal.c, pause.
func alwaysInterruptible(*Thread, *procmem.SyscallInfo) bool { return true }

// epollForEver: a time-out would begin again (fs/eventpoll.c, do_epoll_wait).
func epollForEver(_ *Thread, call *procmem.SyscallInfo) bool { return int32(call.Args[3]) < 0 }

func epollNoMask(t *Thread, call *procmem.SyscallInfo) bool {
	return epollForEver(t, call) && call.Args[4] == 0
}

func epollPlain2(_ *Thread, call *procmem.SyscallInfo) bool {
	return call.Args[3] == 0 && call.Args[4] == 0
}

func plainRead(t *Thread, call *procmem.SyscallInfo) bool { return plain(t, int32(call.Args[0])) }
