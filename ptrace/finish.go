// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

// Request says what to read in the stop. The caller reuses it.
type Request struct {
	// Stack receives bytes from the stack pointer up (x86-64: 128 bytes below, the red zone, System V ABI §3.2.2;
	// arm64: 16). Empty: none.
	Stack []byte
	// Larger, if longer than Stack, is used in its place if the stack, by Top, does not fit into Stack but into Larger
	// ([StackCopy.InLarger]). Of a stack that does not fit either it receives len(Larger)/2 bytes, if Tail receives the
	// end.
	Larger []byte
	// Top is an address that the copy does not go beyond, if above the stack pointer.
	Top uint64
	// ToEnd sets Top to the end of the stack's mapping, if Memory knows one near enough.
	ToEnd bool
	// Tail, with Memory, receives the last bytes below Top, the outermost frames ([Stop.TailAddr]). Empty: none.
	Tail []byte
	// Memory, if not nil, is the process's: reads then end with the mapping and skip missing pages.
	Memory *Memory
	// Files, if not nil, are the thread's. If its schedstat is open, it is read in the stop, else just after.
	Files *ThreadFiles
	// Longest, if positive, bounds the length of the stop, in ns ([StackCopy.Short]). Waits for kernel locks may exceed
	// it.
	Longest int64
	// Extra, if not nil, reads more, into Regions.
	Extra   Extra
	Regions []frames.Region
}

// Stop is the result of Finish.
type Stop struct {
	// Regs has all general registers.
	Regs frames.Regs
	StackCopy
	// Regions is the number that Extra set.
	Regions int
	// Sched has the clocks, if SchedOK.
	Sched   SchedStat
	SchedOK bool
	Times
	// Calls is this process's system calls from Taken to Copied ([procmem.Calls]).
	Calls int
	// Kind is the kind of stop, Signal the signal passed on (0: none).
	Kind   Kind
	Signal int
	// InSyscall is set if the thread is in system call Nr (on x86-64 only, as arm64 hides it).
	InSyscall bool
	Nr        int64
	Repair
}

// Times are the moments of one stop, on the clock of [Now], in ns.
//
//	Interrupt   Running   Stop   Taken   Copied   Detach
//	    │ queued, or leaves the kernel │  │       │        │
//	    └─────────┴─────────┴── registers, clocks ┴ memory ┴ repair
type Times struct {
	// Interrupt, Stop and Detach are the moments of the interrupt, of the poll that found the stop, and of the detach.
	// Running ≥ Interrupt is when the thread was last seen not stopped: the stop takes at most Detach − Running.
	Interrupt, Running, Stop, Detach int64
	// Taken is the moment when registers and clocks were read, Copied that when memory was read.
	Taken, Copied int64
}

// Finish reads what req asks for, detaches the thread, and fills out. It ends the Tracee, except for
// [ErrNotStopped]. Other errors: [ErrGone], [Err32Bit]. It does not allocate.
func (c *Controller) Finish(tracee *Tracee, req *Request, out *Stop) error {
	switch tracee.state {
	case traceeStopped:
	case traceeGone:
		c.tracees.free(tracee)
		return ErrGone
	default:
		return ErrNotStopped
	}
	out.Regions = 0
	c.captured.begin(tracee.times.Running, req)
	var read, detached syscall.Errno
	if req.Extra == nil {
		read, detached = c.readAndDetach(tracee, req)
	} else {
		read = c.readMore(tracee, req, out)
		detached = c.detach(tracee)
	}
	err := c.captured.regs.usable(read)
	if err == nil {
		c.stats.Finished++
		c.captured.decode(req, out)
		out.Times, out.Kind, out.Signal, out.Repair = tracee.times, tracee.kind, int(tracee.signal), tracee.repair
	}
	c.endTracee(tracee, detached)
	return err
}

func (r *registers) usable(e syscall.Errno) error {
	switch {
	case e != 0:
		return ErrGone
	case !r.whole() || foreign(&r.raw):
		return Err32Bit
	}
	return nil
}

// readAndDetach reads what req asks for but Extra, and detaches. It has no safe point of the Go runtime.
//
//go:nosplit
func (c *Controller) readAndDetach(tracee *Tracee, req *Request) (read, detached syscall.Errno) {
	got := &c.captured // the callees are inlined: nosplit stack is short on arm64
	read = got.readState(tracee, req)
	if read == 0 && got.regs.whole() {
		got.stack.read(tracee.tid, req, rawSP(&got.regs.raw))
		got.stack.readTail(tracee.tid, req)
	}
	got.copied(tracee)
	return read, c.detach(tracee)
}

// readMore reads what req asks for, with Extra. It detaches the thread if Extra panics.
func (c *Controller) readMore(tracee *Tracee, req *Request, out *Stop) syscall.Errno {
	e := c.captured.readState(tracee, req)
	if e == 0 && c.captured.regs.whole() {
		ok := false
		defer func() {
			if !ok {
				c.detachAndFree(tracee)
			}
		}()
		out.Regions = c.captured.readExtra(tracee, req, out)
		ok = true
	}
	c.captured.copied(tracee)
	return e
}

// detach repairs the system call and detaches. It gives ESRCH if the thread was killed. Precondition: c.captured.regs
// are those of the thread, or not whole.
//
//go:nosplit
func (c *Controller) detach(tracee *Tracee) syscall.Errno {
	if c.captured.regs.whole() {
		c.repairs.repair(tracee)
	}
	e := ptrace(unix.PTRACE_DETACH, tracee.tid, 0, uintptr(tracee.signal))
	tracee.times.Detach = procmem.Now()
	return e
}

// release detaches a thread of which nothing was read. It reads the registers for the repair.
//
//go:nosplit
func (c *Controller) release(tracee *Tracee) syscall.Errno {
	_ = c.captured.regs.read(tracee.tid)
	return c.detach(tracee)
}

// detachAndFree detaches a thread of which nothing was read, and frees its Tracee.
func (c *Controller) detachAndFree(tracee *Tracee) { c.endTracee(tracee, c.release(tracee)) }

// endTracee frees the Tracee of a thread after the detach. If the thread was killed, the Tracee is kept until its end
// is reported.
func (c *Controller) endTracee(tracee *Tracee, detached syscall.Errno) {
	c.stats.count(tracee)
	c.began = tracee.began
	if detached == 0 {
		c.tracees.free(tracee)
		return
	}
	tracee.state, tracee.abandoned = traceePending, true
}

func (s *Stats) count(tracee *Tracee) {
	switch tracee.kind {
	case KindSignal:
		s.Signals++
	case KindGroup:
		s.Groups++
	}
	if tracee.repair.Restarted {
		s.Restarted++
	}
	if tracee.repair.Broken {
		s.Broken++
	}
	if tracee.repair.ReportedTwice {
		s.ReportedTwice++
	}
}
