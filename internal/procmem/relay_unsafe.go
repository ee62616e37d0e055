// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// relayCall is a system call that one thread asks another one to make. The assembly knows the offsets.
type relayCall struct {
	asked, done uint32 // how many were asked for, and made
	nr          uintptr
	args        [6]uintptr
	result      uintptr // an error number less than zero, or the result
}

// relayThread is a thread that makes system calls for the tracer's. The Go runtime does not know it: it blocks all
// signals, has no Go code, and neither a garbage collection nor another goroutine waits for it or holds it up.
type relayThread struct {
	call     *relayCall
	buf      []byte // what its calls read: a call that ends late must not write where another one reads by then
	tid      int
	cpu      int  // the calling thread's when it was put somewhere last; -1: it was not yet
	realtime bool // the calling thread has a real-time priority
}

const (
	relayStack = 4 << 10  // of relayThread, in bytes: for nothing but what a debugger pushes
	relayBytes = 64 << 10 // that one call reads at most
	relayEnd   = 4 << 10  // of its buffer: what the call is told
)

// Operations of futex(2), of threads of one process only (include/uapi/linux/futex.h).
const (
	futexWait = 0 | 128
	futexWake = 1 | 128
)

// cloneFlags make a thread as those of the Go runtime are (runtime/os_linux.go).
const cloneFlags = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM |
	unix.CLONE_THREAD

// cloneRelay makes the thread; less than zero is an error number.
//
//go:noescape
func cloneRelay(flags uintptr, c *relayCall, stack uintptr) (tid int)

// startRelay makes a thread; nil if that is not possible. Its memory is not the Go heap's, and is never given back.
func startRelay() *relayThread {
	const head = int(unsafe.Sizeof(relayCall{}))
	b, err := unix.Mmap(-1, 0, relayStack+relayBytes+relayEnd, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil || head > relayStack/2 {
		return nil
	}
	r := &relayThread{call: (*relayCall)(unsafe.Pointer(&b[0])), buf: b[relayStack:], cpu: -1}
	all, old := ^uint64(0), uint64(0)
	if !setMask(&all, &old) {
		return nil
	}
	r.tid = cloneRelay(cloneFlags, r.call, uintptr(unsafe.Pointer(&b[relayStack-16])))
	setMask(&old, nil)
	if r.tid < 0 {
		_ = unix.Munmap(b)
		return nil
	}
	i := relaysMade.Add(1) - 1
	relayTIDs[i%int32(len(relayTIDs))].Store(int32(r.tid))
	return r
}

// The threads that were made last.
var (
	relayTIDs  [16 * mostRelays]atomic.Int32
	relaysMade atomic.Int32
)

// IsRelay reports whether a thread of this process is one of [Relays]: it may wait for as long as it takes, as nothing
// else waits for it.
func IsRelay(tid int) bool {
	for i := range relayTIDs {
		if int(relayTIDs[i].Load()) == tid {
			return true
		}
	}
	return false
}

// setMask sets the signals that the calling thread blocks.
func setMask(set, old *uint64) bool {
	CountCall()
	_, _, e := syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)),
		uintptr(unsafe.Pointer(old)), unsafe.Sizeof(*set), 0, 0)
	return e == 0
}

// idle reports whether the thread has made all calls that it was asked for.
func (r *relayThread) idle() bool {
	return atomic.LoadUint32(&r.call.done) == atomic.LoadUint32(&r.call.asked)
}

// ask asks the thread, which is idle, for a call.
func (r *relayThread) ask(nr uintptr, args [6]uintptr) {
	r.call.nr, r.call.args = nr, args
	atomic.AddUint32(&r.call.asked, 1)
	futex(&r.call.asked, futexWake, 1, 0)
}

// await waits for its end, for so many nanoseconds at most, and reports whether it has ended. The Go scheduler is not
// told.
func (r *relayThread) await(ns int64) bool {
	for end := Now() + ns; ; {
		done := atomic.LoadUint32(&r.call.done)
		if done == r.call.asked {
			return true
		}
		left := end - Now()
		if left <= 0 {
			return false
		}
		futex(&r.call.done, futexWait, done, left)
	}
}

// result gives what the call came to: a number that is not negative, or an error number less than zero.
func (r *relayThread) result() int { return int(r.call.result) }

// futex wakes one thread that waits at a word, or waits there for so many nanoseconds at most while it has a value.
func futex(word *uint32, op uintptr, val uint32, ns int64) {
	ts := unix.NsecToTimespec(ns)
	CountCall()
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), op, uintptr(val),
		uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// at gives the address of the buffer.
func (r *relayThread) at() uintptr { return uintptr(unsafe.Pointer(&r.buf[0])) }

// vectors puts down what process_vm_readv reads, behind the bytes that it gives, and gives where.
func (r *relayThread) vectors(addr uint64, n int) (local, remote uintptr) {
	v := (*[2]struct{ base, n uintptr })(unsafe.Pointer(&r.buf[relayBytes]))
	v[0].base, v[0].n = r.at(), uintptr(n)
	v[1].base, v[1].n = uintptr(addr), uintptr(n)
	return uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1]))
}

// query is where a question about a mapping is put down.
func (r *relayThread) query() *mapQuery { return (*mapQuery)(unsafe.Pointer(&r.buf[0])) }

// follow puts the thread on the processor of the calling one, which stays there too, if it has a real-time priority.
// Each wakes the other without an interrupt from afar then.
func (r *relayThread) follow(cpu int) {
	if cpu < 0 || cpu == r.cpu {
		return
	}
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(r.tid, &set) == nil && (!r.realtime || unix.SchedSetaffinity(0, &set) == nil) {
		r.cpu = cpu
	}
}

// prioritize gives the thread a priority by which it is on the processor as soon as the calling thread asks it: a
// real-time priority above that one's, else a short slice (sched(7), sched_setattr(2), Linux 6.12).
func (r *relayThread) prioritize() {
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return
	}
	own.Size = unix.SizeofSchedAttr
	above := *own
	if own.Policy == unix.SCHED_NORMAL {
		above.Runtime = shortSlice
	} else {
		above.Priority++
		r.realtime = true
	}
	if unix.SchedSetAttr(r.tid, &above, 0) != nil {
		_ = unix.SchedSetAttr(r.tid, own, 0)
	}
}

// shortSlice is the shortest slice that the kernel allows, in nanoseconds (kernel/sched/syscalls.c).
const shortSlice = 100_000
