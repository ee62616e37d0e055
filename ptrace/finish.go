// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

// Request says what to read while the thread is stopped. The caller keeps one and
// uses it again; nothing of it is kept by the controller.
type Request struct {
	// Stack takes the bytes from the stack pointer up (on x86-64 from 128 bytes below it, the red zone of System V ABI
	// §3.2.2, on arm64 from 16). Its length is what is asked for. Empty: none.
	Stack []byte
	// Deep, if it is longer than Stack, takes the bytes in its stead where Top says that the stack is larger than Stack
	// and no larger than Deep ([Stop.Deep]). Of a larger one it takes the first half, if Tail takes the last bytes.
	Deep []byte
	// Top, if it lies above the stack pointer, is where the copy ends at the latest.
	Top uint64
	// ToEnd: nothing is known of where the stack ends. Then Top is the end of its mapping, if Memory knows that, and if
	// it is not further away than a stack is large.
	ToEnd bool
	// Tail takes the last bytes below Top, as far as they lie beyond what Stack or Deep takes: the outermost frames
	// ([Stop.TailAddr]). It is for where Memory is given. Empty: none.
	Tail []byte
	// Memory, if not nil, is the process's, and all is read by it. So nothing is read beyond the mapping that the stack
	// pointer lies in, and nothing that somebody would have to provide first.
	Memory *Memory
	// Files, if not nil, are the thread's. Its schedstat is read while the thread is stopped, and so is exact, if it is
	// open (SchedStat was called before), else straight after.
	Files *ThreadFiles
	// Longest, if positive, is how long the stop may last, in nanoseconds: memory is read only as far as there is time
	// ([Stop.Short]). A wait of the kernel for a lock cannot be foreseen.
	Longest int64
	// Extra, if not nil, reads more while the thread is stopped, into Regions.
	Extra   Extra
	Regions []frames.Region
}

// Stop is what a look found. Times are on the clock of [Now], in
// nanoseconds.
type Stop struct {
	// Regs is the register set; all general registers are known.
	Regs frames.Regs
	// StackAddr is where the copied bytes begin; StackLen of them are in
	// Request.Stack, fewer than the StackAsked that were asked for where the mapping ends.
	StackAddr            uint64
	StackLen, StackAsked int
	// Deep: they are in Request.Deep.
	Deep bool
	// TailAddr is where the TailLen bytes in Request.Tail begin.
	TailAddr uint64
	TailLen  int
	// StackEnd is the end of the stack's mapping, if Request.ToEnd asked for it; 0: it is not known.
	StackEnd uint64
	// Regions is the number of Request.Regions that Extra filled.
	Regions int
	// Sched has the thread's clocks, valid if SchedOK.
	Sched   SchedStat
	SchedOK bool
	// Interrupt, Stop and Detach are the times of the interrupt, of when the stop
	// was seen, and of the detach. Running is when the thread was last seen not
	// stopped, Interrupt or later: Detach less Running is the most that it can
	// have been stopped.
	Interrupt, Running, Stop, Detach int64
	// Taken and Copied are when the registers and clocks had been read, and the memory.
	Taken, Copied int64
	// Calls is how many system calls were made between these two, by all of this process ([procmem.Calls]).
	Calls int
	// Short: not all was read, for Request.Longest; the StackAsked are then those that were read.
	Short bool
	// Kind is the kind of stop, Signal the one that was passed on (0: none).
	Kind   Kind
	Signal int
	// InSyscall: the thread was in a system call, Nr by number (x86-64). On arm64
	// the kernel hides it, and it stays false.
	InSyscall bool
	Nr        int64
	// Restarted: the system call would have given EINTR and was made to restart.
	Restarted bool
	// Broken: it gives EINTR or EAGAIN to the program, because a restart is not sound, not
	// possible, or not allowed (Options.ReadOnly).
	Broken bool
	// GaveUp: the call was at work in the kernel, or somebody else was for it, and has given that up. What begins again,
	// by the look or by the program, does it all over. A thread that is stopped in it at each tick never ends it.
	GaveUp bool
	// Told: somebody who makes the call in the thread's stead is told of it once more (seccomp user notification).
	Told bool
}

// Finish reads what req asks for from the stopped thread of a look, lets the
// thread go, and fills out. The look is over then, whatever the result. Errors:
// [ErrGone], [Err32Bit], and [ErrNotStopped] (the look is then still pending).
// It does not allocate.
func (c *Controller) Finish(l *Look, req *Request, out *Stop) error {
	switch l.state {
	case lookStopped:
	case lookGone:
		c.free(l)
		return ErrGone
	default:
		return ErrNotStopped
	}
	err := c.take(l, req, out)
	if err == nil {
		c.stats.Finished++
		c.decode(l, req, out)
	}
	return err
}

// take does all that happens while the thread is stopped, and detaches.
func (c *Controller) take(l *Look, req *Request, out *Stop) error {
	var e, gone syscall.Errno
	out.Regions = 0
	c.allowed.begin(l.runningNS, req.Longest)
	if req.Memory != nil {
		req.Memory.Until(c.allowed.until)
	}
	if req.Extra == nil {
		e, gone = c.takeBare(l, req)
	} else {
		e = c.captureState(l, req)
		if e == 0 && c.rawLen == rawRegsLen {
			out.Regions = c.extra(l, req, out)
		}
		l.copiedNS, l.copiedCalls = procmem.Now(), procmem.Calls()
		gone = c.detach(l)
	}
	c.over(l, gone)
	if e != 0 {
		return ErrGone
	}
	if c.rawLen != rawRegsLen || foreign(&c.raw) {
		return Err32Bit
	}
	return nil
}

// takeBare is capture and detach with no point between them at which the Go
// runtime could hold this thread up.
//
//go:nosplit
func (c *Controller) takeBare(l *Look, req *Request) (e, gone syscall.Errno) {
	e = c.capture(l, req)
	return e, c.detach(l)
}

// capture reads registers, stack and clocks of a stopped thread.
//
//go:nosplit
func (c *Controller) capture(l *Look, req *Request) syscall.Errno {
	e := c.captureState(l, req)
	if e == 0 && c.rawLen == rawRegsLen {
		c.copyStack(l.tid, req)
		c.copyTail(l.tid, req)
	}
	l.copiedNS, l.copiedCalls = procmem.Now(), procmem.Calls()
	return e
}

// captureState reads registers and clocks.
//
//go:nosplit
func (c *Controller) captureState(l *Look, req *Request) syscall.Errno {
	c.schedN, c.stackN, c.tailN, c.deep = -1, 0, 0, false
	if e := c.registers(l.tid); e != 0 || c.rawLen != rawRegsLen {
		return e
	}
	if req.Files != nil {
		c.schedN = req.Files.RawSchedStat(c.schedBuf[:])
	}
	l.takenNS, l.takenCalls = procmem.Now(), procmem.Calls()
	return 0
}

// copyStack reads the stack.
//
//go:nosplit
func (c *Controller) copyStack(tid int, req *Request) {
	c.askStack(req)
	if req.Memory != nil {
		if len(req.Stack) > 0 {
			c.stackN = c.allowed.copy(req.Memory, tid, c.stackAt, c.stackTo(req)[:c.stackAsked])
		}
		return
	}
	c.stackN = c.allowed.readVM(tid, c.stackAt, c.stackTo(req)[:c.stackAsked])
	if c.stackN == 0 { // nothing is mapped below the stack pointer
		c.stackAt += redZone
		c.stackN = c.allowed.readVM(tid, c.stackAt, c.stackTo(req)[:c.stackAsked])
	}
}

// askStack says what to read of the stack, and where to put it.
//
//go:nosplit
func (c *Controller) askStack(req *Request) {
	sp := rawSP(&c.raw)
	c.stackAt = sp - redZone
	if req.Memory != nil && len(req.Stack) > 0 && c.stackAt&^0xfff != sp&^0xfff && req.Memory.Start(sp) > c.stackAt {
		c.stackAt = sp // what lies below is another mapping
	}
	c.top, c.end = req.Top, 0
	if req.ToEnd && req.Memory != nil {
		c.end = req.Memory.End(sp)
		if c.top = c.end; c.end-sp > mostStack {
			c.top = 0
		}
	}
	size := c.top - c.stackAt
	room, parted := len(req.Deep), size > uint64(len(req.Deep))
	if parted {
		room /= 2
	}
	c.deep = c.top > c.stackAt && size > uint64(len(req.Stack)) && room > len(req.Stack) &&
		(!parted || takesTail(req, size))
	if c.stackAsked = len(req.Stack); c.deep {
		c.stackAsked = room
	}
	c.stackAsked = upTo(c.top, c.stackAt, c.stackAsked)
}

// takesTail reports whether the last bytes of a stack of that size are to be read for themselves.
//
//go:nosplit
func takesTail(req *Request, size uint64) bool {
	return len(req.Tail) > 0 && req.Memory != nil && size <= mostStack
}

// mostStack is how far away the end of a stack is taken for one, in bytes. It is the usual limit of a stack, and some
// for what lies behind it in the same mapping.
const mostStack = 9 << 20

// copyTail reads the end of a stack that is larger than what has been read of it.
//
//go:nosplit
func (c *Controller) copyTail(tid int, req *Request) {
	have, size := c.stackAt+uint64(c.stackN), uint64(len(req.Tail))
	if c.stackN < c.stackAsked || c.top <= have || !takesTail(req, c.top-c.stackAt) {
		return
	}
	c.tailAt = max(have, c.top-size)
	c.tailN = c.allowed.copy(req.Memory, tid, c.tailAt, req.Tail[:c.top-c.tailAt])
}

// stackTo is what takes the stack.
//
//go:nosplit
func (c *Controller) stackTo(req *Request) []byte {
	if c.deep {
		return req.Deep
	}
	return req.Stack
}

// upTo gives how many bytes to read from an address, n at most.
//
//go:nosplit
func upTo(top, from uint64, n int) int {
	if top > from && top-from < uint64(n) {
		return int(top - from)
	}
	return n
}

// registers reads the general registers, and on arm64 the thread pointer.
//
//go:nosplit
func (c *Controller) registers(tid int) (e syscall.Errno) {
	c.rawLen, e = getRegSet(tid, regSetGeneral, &c.raw)
	if e != 0 {
		c.rawLen = 0 // nothing to repair by
		return e
	}
	c.moreRegisters(tid)
	return 0
}

// detach repairs a broken system call if need be and lets the thread go. The
// error is that of the detach: ESRCH if the thread was killed meanwhile.
//
//go:nosplit
func (c *Controller) detach(l *Look) syscall.Errno {
	if c.rawLen == rawRegsLen {
		c.repair(l)
	}
	e := ptrace(unix.PTRACE_DETACH, l.tid, 0, uintptr(l.signal))
	l.detachNS = procmem.Now()
	return e
}

// release lets a stopped thread go without reading anything but what the repair
// needs.
//
//go:nosplit
func (c *Controller) release(l *Look) syscall.Errno {
	_ = c.registers(l.tid) // detach sees by rawLen whether they are known
	return c.detach(l)
}

// letGo is release for a look of the table, with the accounts.
func (c *Controller) letGo(l *Look) { c.over(l, c.release(l)) }

// over does the accounts of a look that was detached, and frees it. If the detach
// failed, the thread was killed while it was stopped, and is to be waited for.
func (c *Controller) over(l *Look, gone syscall.Errno) {
	switch l.kind {
	case KindSignal:
		c.stats.Signals++
	case KindGroup:
		c.stats.Groups++
	}
	if l.restarted {
		c.stats.Restarted++
	}
	if l.broken {
		c.stats.Broken++
	}
	if l.told {
		c.stats.Told++
	}
	c.last = *l
	if gone == 0 {
		c.free(l)
		return
	}
	l.state, l.abandoned = lookPending, true
}
