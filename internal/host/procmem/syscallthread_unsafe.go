// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// threadCall is a system call of a syscallThread. The assembly uses the fields' offsets.
type threadCall struct {
	asked, done uint32 // numbers of calls
	nr          uintptr
	args        [6]uintptr
	result      uintptr
}

// syscallThread is unknown to the Go runtime: it blocks all signals, runs no Go code, and garbage collections do not
// wait for it.
type syscallThread struct {
	call     *threadCall
	buf      []byte // receives what it reads, as a call may end late
	tid      int
	cpu      int
	realtime bool
}

const (
	threadStack = 4 << 10 // bytes
	threadBuf   = 64 << 10
	threadTail  = 4 << 10
)

// Private operations of futex(2) (include/uapi/linux/futex.h).
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)

// cloneFlags are those of runtime/os_linux.go.
const cloneFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM |
	unix.CLONE_THREAD

// cloneSyscallThread returns the id of a new thread, or a negative errno.
//
//go:noescape
func cloneSyscallThread(flags uintptr, c *threadCall, stack uintptr) (tid int)

// startSyscallThread returns nil on error. The thread's memory is never freed.
func startSyscallThread() *syscallThread {
	const head = int(unsafe.Sizeof(threadCall{}))
	b, err := unix.Mmap(-1, 0, threadStack+threadBuf+threadTail, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil || head > threadStack/2 {
		return nil
	}
	r := &syscallThread{call: (*threadCall)(unsafe.Pointer(&b[0])), buf: b[threadStack:], cpu: -1}
	all, old := ^uint64(0), uint64(0)
	if !setMask(&all, &old) {
		return nil
	}
	r.tid = cloneSyscallThread(cloneFlags, r.call, uintptr(unsafe.Pointer(&b[threadStack-16])))
	setMask(&old, nil)
	if r.tid < 0 {
		_ = unix.Munmap(b)
		return nil
	}
	i := syscallThreadsMade.Add(1) - 1
	syscallThreadTIDs[i%int32(len(syscallThreadTIDs))].Store(int32(r.tid))
	return r
}

var (
	syscallThreadTIDs  [16 * maxSyscallThreads]atomic.Int32
	syscallThreadsMade atomic.Int32
)

// IsSyscallThread reports whether a thread is one of [SyscallThreads], or of a [PathOpener]. It is true also of a
// thread with the number of one that has ended, and false of one before the last 64.
func IsSyscallThread(tid int) bool {
	for i := range syscallThreadTIDs {
		if int(syscallThreadTIDs[i].Load()) == tid {
			return true
		}
	}
	return false
}

func setMask(set, old *uint64) bool {
	CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(*set), 0, 0)
	return e == 0
}

func (t *syscallThread) idle() bool {
	return atomic.LoadUint32(&t.call.done) == atomic.LoadUint32(&t.call.asked)
}

// start begins a system call. Precondition: idle.
func (t *syscallThread) start(nr uintptr, args [6]uintptr) {
	t.call.nr, t.call.args = nr, args
	atomic.AddUint32(&t.call.asked, 1)
	futex(&t.call.asked, futexWake, 1, 0)
}

// await waits at most ns, outside the Go scheduler, and reports whether the call has ended.
func (t *syscallThread) await(ns int64) bool {
	for end := Now() + ns; ; {
		done := atomic.LoadUint32(&t.call.done)
		if done == t.call.asked {
			return true
		}
		left := end - Now()
		if left <= 0 {
			return false
		}
		futex(&t.call.done, futexWait, done, left)
	}
}

// awaitLong waits for the end of the call, and holds up no collection.
func (t *syscallThread) awaitLong() {
	for done := atomic.LoadUint32(&t.call.done); done != t.call.asked; done = atomic.LoadUint32(&t.call.done) {
		CountCall()
		pinned := ReleasePins()
		_, _, _ = syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&t.call.done)), futexWait, uintptr(done), 0, 0, 0)
		RestorePins(pinned)
	}
}

// cpuTime returns the thread's CPU time in ns, 0 on error.
func (t *syscallThread) cpuTime() int64 {
	ns, _ := clock(^int32(t.tid)<<3 | cpuClockThread | cpuClockSched)
	return int64(ns)
}

func (t *syscallThread) result() int { return int(t.call.result) }

func futex(word *uint32, op uintptr, val uint32, ns int64) {
	ts := unix.NsecToTimespec(ns)
	CountCall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), op, uintptr(val),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
}

func (t *syscallThread) bufAddr() uintptr { return uintptr(unsafe.Pointer(&t.buf[0])) }

func (t *syscallThread) vectors(addr uint64, n int) (local, remote uintptr) {
	v := (*[2]struct{ base, n uintptr })(unsafe.Pointer(&t.buf[threadBuf]))
	v[0].base, v[0].n = t.bufAddr(), uintptr(n)
	v[1].base, v[1].n = uintptr(addr), uintptr(n)
	return uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))
}

func (t *syscallThread) query() *mapQuery { return (*mapQuery)(unsafe.Pointer(&t.buf[0])) }

// follow moves the thread to the caller's CPU, and binds a real-time caller to it, against interrupts between CPUs.
func (t *syscallThread) follow(cpu int) {
	if cpu < 0 || cpu == t.cpu {
		return
	}
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(t.tid, &set) == nil && (!t.realtime || unix.SchedSetaffinity(0, &set) == nil) {
		t.cpu = cpu
	}
}

// prioritize sets a priority above a real-time caller's, else a short time slice (sched_setattr(2), Linux 6.12).
func (t *syscallThread) prioritize() {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return
	}
	own.Size = unix.SizeofSchedAttr
	above := *own
	if own.Policy == unix.SCHED_NORMAL {
		above.Runtime = minTimeSlice
	} else {
		above.Priority++
		t.realtime = true
	}
	if unix.SchedSetAttr(t.tid, &above, 0) != nil {
		_ = unix.SchedSetAttr(t.tid, own, 0)
	}
}

// minTimeSlice is the kernel's shortest, in ns (kernel/sched/syscalls.c).
const minTimeSlice = 100_000
