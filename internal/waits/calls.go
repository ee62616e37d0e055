// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sleeper is a sleeping thread, as sampled.
type Sleeper struct {
	// State is the letter of /proc/PID/stat; 0 in a core.
	State byte
	// Wait is the system call, or the kernel's reason (process.WaitLabel).
	Wait string
	// Args are the call's arguments, if InCall.
	Args   [6]uint64
	InCall bool
	// Memory has the futex word, and the lock.
	Memory WordCopy
	// Stack is the innermost functions with inlined calls, at most [MaxFunctions].
	Stack []FunctionName
	// At is the time of the sample, CLOCK_MONOTONIC in ns; 0 if unknown.
	At int64
	// Managed asks the run-time systems about a thread in a [ManagedCall], now; nil: none. Its answer has priority.
	Managed func() (Wait, bool)
}

// Describe gives what a thread waits for, zero for a running one. [Wait.Resolve] and [Files.AddFileDetails] complete
// it.
func Describe(s *Sleeper) Wait {
	switch s.State {
	case 'T', 't':
		return Wait{Kind: Stopped}
	case 'R', 'Z', 'X':
		return Wait{}
	}
	switch s.Wait {
	case "page fault", "userfault":
		return Wait{Kind: PageFault}
	case "frozen":
		return Wait{Kind: Frozen}
	case "":
		return Wait{}
	}
	w := Wait{Kind: Other}
	if s.InCall {
		w = describeCall(s)
	}
	switch {
	case s.State != 'D':
	case w.Kind == Descriptor:
		w.Kind = Disk
	case w.Kind == Other:
		w.Kind, w.Why = Disk, "or a lock of the kernel"
	}
	return w
}

// cloneVFORK is CLONE_VFORK (include/uapi/linux/sched.h).
const cloneVFORK = 0x4000

// onDescriptor are calls that wait for their first argument.
var onDescriptor = map[string]bool{
	"read": true, "write": true, "pread64": true, "pwrite64": true, "readv": true, "writev": true, "preadv": true,
	"pwritev": true, "preadv2": true, "pwritev2": true, "recvfrom": true, "recvmsg": true, "recvmmsg": true,
	"sendto":  true,
	"sendmsg": true, "sendmmsg": true, "accept": true, "accept4": true, "connect": true, "epoll_wait": true,
	"epoll_pwait": true, "epoll_pwait2": true, "ioctl": true, "fsync": true, "fdatasync": true, "sync_file_range": true,
	"ftruncate": true, "fallocate": true, "splice": true, "sendfile": true, "tee": true, "vmsplice": true,
	"io_uring_enter": true, "mq_timedreceive": true, "mq_timedsend": true, "getdents64": true, "close": true,
}

func describeCall(s *Sleeper) Wait {
	a := &s.Args
	if s.Managed != nil {
		if w, ok := s.Managed(); ok {
			return w
		}
	}
	switch s.Wait {
	case "futex":
		return futex(a, s.Stack, &s.Memory)
	case "flock", "fcntl":
		return Wait{Kind: FileLock, FD: fileOf(a[0]), class: fileLockClasses[s.Wait]}
	case "wait4", "waitid":
		return describeChild(s.Wait, a)
	case "vfork", "clone", "clone3": // clone3 has its flags in memory; only a vfork waits uninterruptibly for long
		if s.Wait == "vfork" || s.Wait == "clone" && a[0]&cloneVFORK != 0 || s.Wait == "clone3" && s.State == 'D' {
			return Wait{Kind: Child, Until: "until it calls exec or ends"}
		}
	case "nanosleep", "clock_nanosleep":
		return Wait{Kind: Sleep, Timed: true}
	case "pause", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64":
		return Wait{Kind: Signal, Timed: strings.HasPrefix(s.Wait, "rt_sigtimedwait") && a[2] != 0}
	case "poll", "ppoll":
		w := Wait{Kind: Descriptor, Timed: s.Wait == "poll" && int32(a[2]) >= 0 || s.Wait == "ppoll" && a[2] != 0}
		if uint32(a[1]) == 0 { // no descriptors
			w.Kind = Sleep
		}
		return w
	case "select", "pselect6":
		w := Wait{Kind: Descriptor, Timed: a[4] != 0}
		if a[0] == 0 || a[1]|a[2]|a[3] == 0 { // no descriptors
			w.Kind = Sleep
		}
		return w
	case "semop", "semtimedop":
		return Wait{Kind: Semaphore, Why: "of System V, stores no owner", Timed: s.Wait == "semtimedop" && a[3] != 0}
	case "msgrcv", "msgsnd":
		return Wait{Kind: Queue}
	case "sync", "syncfs":
		return Wait{Kind: Disk}
	}
	if onDescriptor[s.Wait] {
		w := Wait{Kind: Descriptor, FD: fileOf(a[0])}
		switch s.Wait {
		case "epoll_wait", "epoll_pwait":
			w.Timed = int32(a[3]) >= 0
		case "epoll_pwait2":
			w.Timed = a[3] != 0
		case "mq_timedreceive", "mq_timedsend":
			w.Timed = a[4] != 0
		}
		return w
	}
	return Wait{Kind: Other}
}

func fileOf(fd uint64) *File { return &File{FD: int(int32(fd))} }

// describeChild reads the ID from wait4's first argument, or waitid's second if its first is P_PID (1,
// include/uapi/linux/wait.h).
func describeChild(name string, a *[6]uint64) Wait {
	w := Wait{Kind: Child}
	switch {
	case name == "wait4" && int32(a[0]) > 0:
		w.Child = int(int32(a[0]))
	case name == "waitid" && a[0] == 1:
		w.Child = int(int32(a[1]))
	}
	return w
}

// timerAbsolute is TIMER_ABSTIME of clock_nanosleep(2).
const timerAbsolute = 1

type sleepTime struct {
	addr     uint64 // of a struct timespec; 0: none
	absolute bool   // an end, not a length
	clock    uint64 // as in clock_gettime(2)
}

func (s *Sleeper) time() sleepTime {
	switch {
	case !s.InCall:
	case s.Wait == "nanosleep":
		return sleepTime{addr: s.Args[0]}
	case s.Wait == "clock_nanosleep":
		return sleepTime{s.Args[2], s.Args[1]&timerAbsolute != 0, s.Args[0]}
	}
	return sleepTime{}
}

func (w *Wait) setTime(sec, nsec uint64, t sleepTime, at int64) {
	if sec > 1<<33 || nsec >= 1e9 {
		return
	}
	length := time.Duration(sec*1e9 + nsec)
	switch {
	case !t.absolute:
		w.Until = "for " + length.String()
	case t.clock == unix.CLOCK_REALTIME:
		w.Until = "until " + time.Unix(int64(sec), int64(nsec)).UTC().Format(time.RFC3339Nano)
	case t.clock == unix.CLOCK_MONOTONIC && at != 0:
		w.Until = "for " + max(length-time.Duration(at), 0).Round(time.Millisecond).String() + " more"
	case t.clock == unix.CLOCK_MONOTONIC:
		w.Until = fmt.Sprintf("until %d.%03d s of CLOCK_MONOTONIC", sec, nsec/1e6)
	default:
		w.Until = fmt.Sprintf("until %d.%03d s of clock %d", sec, nsec/1e6, t.clock)
	}
}
