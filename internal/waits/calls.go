// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Sleeper is a thread that sleeps, as a look has shown it.
type Sleeper struct {
	// State is its letter from /proc/PID/stat; 0 of a core's threads.
	State byte
	// Wait is the label of its wait: the call's name, or the kernel's reason (process.WaitLabel).
	Wait string
	// Args are the arguments of its call; InCall: they are known.
	Args   [6]uint64
	InCall bool
	// Near is what was copied around the word that it sleeps at.
	Near Copy
	// Stack are its innermost functions ([MostNames] at most), inlined calls included, the innermost first.
	Stack []Name
	// At is when it was looked at on its own CLOCK_MONOTONIC, in nanoseconds; 0: not known, as of a core.
	At int64
	// Managed asks the run-time systems of its process about one that sleeps in futex(2); nil if there are none. What they
	// say comes first; who owns a lock is as of the moment at which it is called.
	Managed func() (For, bool)
}

// Of tells what a sleeper waits for: nothing for one that runs. What needs more than the sleeper itself, such as the
// names of descriptors, is filled in by [For.Resolve] and [Files.Describe].
func Of(s *Sleeper) For {
	switch s.State {
	case 'T', 't':
		return For{Kind: Stopped}
	case 'R', 'Z', 'X':
		return For{}
	}
	switch s.Wait {
	case "page fault", "userfault":
		return For{Kind: PageFault}
	case "frozen":
		return For{Kind: Frozen}
	case "":
		return For{}
	}
	if !s.InCall {
		if s.State == 'D' {
			return For{Kind: Disk}
		}
		return For{Kind: Other}
	}
	w := call(s)
	if s.State == 'D' && (w.Kind == Other || w.Kind == Descriptor) { // the file stays known
		w.Kind = Disk
	}
	return w
}

// onDescriptor are the calls whose first argument is a descriptor that they wait for.
var onDescriptor = map[string]bool{
	"read": true, "write": true, "pread64": true, "pwrite64": true, "readv": true, "writev": true, "preadv": true,
	"pwritev": true, "preadv2": true, "pwritev2": true, "recvfrom": true, "recvmsg": true, "recvmmsg": true,
	"sendto":  true,
	"sendmsg": true, "sendmmsg": true, "accept": true, "accept4": true, "connect": true, "epoll_wait": true,
	"epoll_pwait": true, "epoll_pwait2": true, "ioctl": true, "fsync": true, "fdatasync": true, "sync_file_range": true,
	"ftruncate": true, "fallocate": true, "splice": true, "sendfile": true, "tee": true, "vmsplice": true,
	"io_uring_enter": true, "mq_timedreceive": true, "mq_timedsend": true, "getdents64": true, "close": true,
}

// call describes the wait of a sleeper in a system call.
func call(s *Sleeper) For {
	a := &s.Args
	switch s.Wait {
	case "futex":
		if s.Managed != nil {
			if w, ok := s.Managed(); ok {
				return w
			}
		}
		return futex(a, s.Stack, &s.Near)
	case "flock", "fcntl":
		return For{Kind: FileLock, FD: file(a[0])}
	case "wait4", "waitid":
		return child(s.Wait, a)
	case "nanosleep", "clock_nanosleep":
		return For{Kind: Sleep, Timed: true}
	case "pause", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64":
		return For{Kind: Signal}
	case "poll", "ppoll":
		return For{Kind: Descriptor, Timed: s.Wait == "poll" && int32(a[2]) >= 0 || s.Wait == "ppoll" && a[2] != 0}
	case "select", "pselect6":
		w := For{Kind: Descriptor, Timed: a[4] != 0}
		if a[0] == 0 || a[1]|a[2]|a[3] == 0 { // the old way to sleep
			w.Kind = Sleep
		}
		return w
	case "semop", "semtimedop":
		return For{Kind: Semaphore, Why: "of System V, stores no owner"}
	case "msgrcv", "msgsnd":
		return For{Kind: Queue}
	case "sync", "syncfs":
		return For{Kind: Disk}
	}
	if onDescriptor[s.Wait] {
		w := For{Kind: Descriptor, FD: file(a[0])}
		switch s.Wait {
		case "epoll_wait", "epoll_pwait":
			w.Timed = int32(a[3]) >= 0
		case "epoll_pwait2":
			w.Timed = a[3] != 0
		}
		return w
	}
	return For{Kind: Other}
}

// file is a descriptor of which only the number is known yet.
func file(fd uint64) *File { return &File{FD: int(int32(fd))} }

// child describes a wait for a child: wait4's first argument is a process, waitid's second where the first says so
// (P_PID is 1 in include/uapi/linux/wait.h).
func child(name string, a *[6]uint64) For {
	w := For{Kind: Child}
	switch {
	case name == "wait4" && int32(a[0]) > 0:
		w.Child = int(int32(a[0]))
	case name == "waitid" && a[0] == 1:
		w.Child = int(int32(a[1]))
	}
	return w
}

// timerAbsolute is the flag of clock_nanosleep(2) for a moment instead of a length.
const timerAbsolute = 1

// timeOf is how the time of a sleep is meant.
type timeOf struct {
	addr     uint64 // where it stands: seconds and nanoseconds; 0: the sleep has none
	absolute bool   // it is a moment
	clock    uint64 // of that clock, as in clock_gettime(2)
}

// time gives where a sleep has its length, or its end.
func (s *Sleeper) time() timeOf {
	switch {
	case !s.InCall:
	case s.Wait == "nanosleep":
		return timeOf{addr: s.Args[0]}
	case s.Wait == "clock_nanosleep":
		return timeOf{s.Args[2], s.Args[1]&timerAbsolute != 0, s.Args[0]}
	}
	return timeOf{}
}

// setTime says until when it sleeps, of what stands there. at is [Sleeper.At].
func (w *For) setTime(sec, nsec uint64, t timeOf, at int64) {
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
