package look

import (
	"bytes"
	"strconv"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
)

// interruptible reports whether a thread that sleeps in a system call can be stopped
// and let go without any effect on the call: those that the kernel goes on with by
// itself, their time-out kept (kernel/signal.c, restart_block; signal(7)), and those
// that give EINTR and are made to begin again by package ptrace, if no time-out is
// running that would begin anew. It is not so for calls that may have transferred
// a part: they would return a short count. What is not known is not.
func interruptible(t *Thread, call *procmem.SyscallInfo) bool {
	if call.Nr < 0 {
		return false // in a page fault, or on its way
	}
	name := target.SyscallName(hostArch(), call.Nr)
	if hostArch() == frames.AArch64 && !resumed(name) {
		return false
	}
	switch name {
	case "poll", "ppoll", "select", "pselect6", "nanosleep", "clock_nanosleep", "futex", "pause", "rt_sigsuspend",
		"wait4", "waitid", "msgrcv", "mq_timedreceive", "flock":
		return true
	case "epoll_wait", "epoll_pwait":
		return int32(call.Args[3]) < 0
	case "epoll_pwait2":
		return call.Args[3] == 0
	case "semop":
		return true
	case "rt_sigtimedwait":
		return call.Args[2] == 0
	case "read", "readv":
		return t.plain(int32(call.Args[0]))
	}
	return false
}

// Interruptible reports whether a thread can be stopped and let go in the system call that
// it sleeps in without any effect on that call. For tests and measurements: a [Looker] asks
// itself.
func Interruptible(t *Thread, call *procmem.SyscallInfo) bool { return interruptible(t, call) }

// resumed reports whether the kernel goes on with a call by itself if it does so at all.
// On arm64 no other can be relied on: what is needed to begin the call again may be lost
// (package ptrace, Look.Sleeping).
func resumed(name string) bool {
	switch name {
	case "epoll_wait", "epoll_pwait", "epoll_pwait2", "semop", "rt_sigtimedwait":
		return false
	}
	return true
}

// plain reports whether a descriptor of the thread's process is a pipe, a terminal, or one
// of eventfd's kind: their reads wait for a first byte and nothing else. A socket can have
// a time-out of its own (SO_RCVTIMEO), and a file system in user space is told of the
// interruption and may answer with EINTR.
func (t *Thread) plain(fd int32) bool {
	var buf [16]byte
	to, err := procmem.Readlink("/proc/"+strconv.Itoa(t.PID)+"/fd/"+strconv.Itoa(int(fd)), buf[:])
	if err != nil {
		return false
	}
	for _, kind := range [...]string{"pipe:", "anon_inode:", "/dev/pts/", "/dev/tty", "/dev/console"} {
		if bytes.HasPrefix(to, []byte(kind)) {
			return true
		}
	}
	return false
}
