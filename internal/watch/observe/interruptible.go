// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bytes"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

// Interruptible reports whether a stop has no effect on a sleeper's system call: the kernel resumes it with the rest of
// its time-out (kernel/signal.c; signal(7)), or package ptrace restarts it. User memory is written at most in the
// sleeper's innermost frames ([inOwnFrames]). Arguments there are taken from copied; nil means that they are read,
// which may wait for a page.
func Interruptible(id ThreadID, call *procmem.SyscallInfo, copied *frames.Snapshot) bool {
	if call.Nr < 0 {
		return false // in a page fault, or on the way into a call
	}
	rule, ok := interruptRules[process.HostSyscallName(call.Nr)]
	return ok && (process.HostArch() != frames.ARM64 || !rule.repaired) && rule.holds(sleepingThread{id, copied}, call)
}

// InterruptRule returns, for docs/affected-calls.tsv, when a thread may be stopped in a call, "" for never. repaired
// means that this holds on x86-64 only.
func InterruptRule(name string) (when string, repaired bool) {
	rule := interruptRules[name]
	return rule.when, rule.repaired
}

type sleepingThread struct {
	id     ThreadID
	copied *frames.Snapshot
}

type interruptRule struct {
	when  string
	holds func(sleepingThread, *procmem.SyscallInfo) bool
	// On arm64 package ptrace needs [ptrace.Attachment.SetSleeping] to restart the call, which a recording calls only
	// with --rung stop.
	repaired bool
}

// A stop in another call could have effects: writes of shared memory, lost events, partial results.
var interruptRules = map[string]interruptRule{
	"futex":     {when: "`FUTEX_WAIT`, `FUTEX_WAIT_BITSET`", holds: futexOnlyWaits},
	"poll":      {when: "array on the stack", holds: pollArrayInOwnFrames},
	"ppoll":     {when: "array on the stack, no timeout, no mask", holds: ppollWithoutTimeout},
	"select":    {when: "no timeout", holds: selectWithoutTimeout},
	"pselect6":  {when: "no timeout, no mask", holds: pselectWithoutTimeout},
	"nanosleep": {when: "no `rem`", holds: noRemainingTime},
	"clock_nanosleep": {
		when:  "no `rem`, or `TIMER_ABSTIME` and the time on the stack",
		holds: clockSleepRestarts,
	},
	"wait4":        {when: "not for the caller's group", holds: waitNotForOwnGroup},
	"waitid":       {when: "siginfo on the stack, not for the caller's group", holds: waitidInOwnFrames},
	"msgrcv":       {when: "always", holds: alwaysInterruptible},
	"pause":        {when: "always", holds: alwaysInterruptible},
	"epoll_wait":   {when: "no timeout", holds: epollWithoutTimeout, repaired: true},
	"epoll_pwait":  {when: "no timeout, no mask", holds: epollPwaitWithoutTimeout, repaired: true},
	"epoll_pwait2": {when: "no timeout, no mask", holds: epollPwait2WithoutTimeout, repaired: true},
	"read":         {when: restartableFiles, holds: readRestarts},
	"readv":        {when: restartableFiles, holds: readRestarts},
}

// Other operations may return EAGAIN (kernel/futex/requeue.c). A time-out is kept as a moment (kernel/futex/waitwake.c,
// futex_wait).
func futexOnlyWaits(_ sleepingThread, call *procmem.SyscallInfo) bool {
	const flags, wait, waitBitset = 128 | 256, 0, 9
	op := uint32(call.Args[1]) &^ flags
	return op == wait || op == waitBitset
}

// Each interruption writes revents (fs/select.c, do_sys_poll). The time-out is kept as a moment.
func pollArrayInOwnFrames(_ sleepingThread, call *procmem.SyscallInfo) bool {
	n := uint64(uint32(call.Args[1]))
	return n == 0 || inOwnFrames(call, call.Args[0], 8*n)
}

// The rest of a time-out is written back, which prolongs the call, or EINTR is returned (fs/select.c,
// poll_select_finish). With a mask, blocked signals arrive during the restart.
func ppollWithoutTimeout(id sleepingThread, call *procmem.SyscallInfo) bool {
	return pollArrayInOwnFrames(id, call) && call.Args[2] == 0 && call.Args[3] == 0
}

// Interruptions do not write the sets (fs/select.c, core_sys_select).
func selectWithoutTimeout(_ sleepingThread, call *procmem.SyscallInfo) bool { return call.Args[4] == 0 }

// The C library always passes a structure, in which the mask may be 0.
func pselectWithoutTimeout(id sleepingThread, call *procmem.SyscallInfo) bool {
	at := call.Args[5]
	return call.Args[4] == 0 && (at == 0 || inOwnFrames(call, at, 8) && id.wordIsZero(at))
}

// Each interruption writes the remaining time (kernel/time/hrtimer.c, do_nanosleep).
func noRemainingTime(_ sleepingThread, call *procmem.SyscallInfo) bool { return call.Args[1] == 0 }

// An absolute moment is read again.
func clockSleepRestarts(_ sleepingThread, call *procmem.SyscallInfo) bool {
	const realtime, monotonic, boottime, tai, untilMoment = 0, 1, 7, 11, 1
	switch call.Args[0] {
	case realtime, monotonic, boottime, tai:
		if call.Args[1]&untilMoment != 0 {
			return inOwnFrames(call, call.Args[2], 16)
		}
		return call.Args[3] == 0
	}
	return false
}

// The group is looked up only at the call's start (kernel/exit.c, kernel_wait4).
func waitNotForOwnGroup(_ sleepingThread, call *procmem.SyscallInfo) bool {
	return int32(call.Args[0]) != 0
}

// Each interruption writes siginfo (kernel/exit.c, waitid).
func waitidInOwnFrames(_ sleepingThread, call *procmem.SyscallInfo) bool {
	const ofGroup = 2
	if int32(call.Args[0]) == ofGroup && int32(call.Args[1]) == 0 {
		return false
	}
	return call.Args[2] == 0 || inOwnFrames(call, call.Args[2], 128)
}

// alwaysInterruptible is for msgrcv (ipc/msg.c, do_msgrcv) and pause (kernel/signal.c).
func alwaysInterruptible(sleepingThread, *procmem.SyscallInfo) bool { return true }

// A time-out would begin again (fs/eventpoll.c, do_epoll_wait).
func epollWithoutTimeout(_ sleepingThread, call *procmem.SyscallInfo) bool {
	return int32(call.Args[3]) < 0
}

func epollPwaitWithoutTimeout(id sleepingThread, call *procmem.SyscallInfo) bool {
	return epollWithoutTimeout(id, call) && call.Args[4] == 0
}

func epollPwait2WithoutTimeout(_ sleepingThread, call *procmem.SyscallInfo) bool {
	return call.Args[3] == 0 && call.Args[4] == 0
}

func readRestarts(id sleepingThread, call *procmem.SyscallInfo) bool {
	return waitsForFirstByte(id, int32(call.Args[0]))
}

// ownFrames is the assumed size of the frames of the C library's wrapper and its caller.
const ownFrames = 8 << 10

// inOwnFrames reports whether n bytes at addr are in a sleeper's innermost frames, which no other thread writes.
func inOwnFrames(call *procmem.SyscallInfo, addr, n uint64) bool {
	return addr >= call.SP && n <= ownFrames && addr-call.SP <= ownFrames-n
}

// The kernel has read the word at the call's entry. The walking goroutine must not call [procmem.Memory.Copy].
func (id sleepingThread) wordIsZero(addr uint64) bool {
	if id.copied != nil {
		word, ok := id.copied.Word(addr)
		return ok && word == 0
	}
	var word [8]byte
	n, err := procmem.ReadVM(id.id.TID, addr, word[:])
	return err == nil && n == len(word) && word == [8]byte{}
}

const restartableFiles = "pipe, eventfd, timerfd, signalfd, inotify"

// The kernel restarts a read that waits for its first byte (fs/pipe.c, fs/eventfd.c, fs/timerfd.c, fs/signalfd.c,
// fs/notify/inotify/inotify_user.c), unlike terminals (drivers/tty/n_tty.c, VMIN) and sockets with time-outs. A thread
// may have its own descriptor table.
func waitsForFirstByte(id sleepingThread, fd int32) bool {
	var buf [24]byte
	table := "/proc/" + strconv.Itoa(id.id.PID) + "/task/" + strconv.Itoa(id.id.TID) + "/fd/"
	to, err := procmem.Readlink(table+strconv.Itoa(int(fd)), buf[:])
	if err != nil {
		return false
	}
	for _, kind := range [...]string{
		"pipe:[", "anon_inode:[eventfd]", "anon_inode:[timerfd]", "anon_inode:[signalfd]", "anon_inode:inotify",
	} {
		if bytes.HasPrefix(to, []byte(kind)) {
			return true
		}
	}
	return false
}
