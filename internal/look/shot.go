// SPDX-License-Identifier: Apache-2.0

package look

import (
	"math/bits"
	"os"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// How says how a look was made.
type How uint8

// The ways of looking.
const (
	ByNothing How = iota
	ByFreeze
	ByPeek
	ByReuse
	BySample // the kernel's, of a running thread
	FromCore
)

// String gives the name that JSON uses.
func (h How) String() string {
	switch h {
	case ByFreeze:
		return "freeze"
	case ByPeek:
		return "peek"
	case ByReuse:
		return "reuse"
	case BySample:
		return "sample"
	case FromCore:
		return "core"
	}
	return "none"
}

// Shot is what a look copied: the registers, as far as they could be seen, the
// stack, and the clocks of that moment.
type Shot struct {
	Regs  frames.Regs
	Mem   frames.Snapshot
	Sched procmem.SchedStat
	// At is the moment, CLOCK_MONOTONIC in nanoseconds.
	At    int64
	How   How
	State sample.State
	// Call is the system call that a sleeper is in; meaningless for a running
	// thread.
	Call procmem.SyscallInfo
	// Stopped is how long a freeze took from the interrupt to the detach. The time is left out for which the thread was
	// queued, blocked, or at work in the kernel before it stopped. It is in nanoseconds, and an upper bound.
	Stopped int64
	// Late is how long the thread went on after the interrupt, though it was on a processor, in nanoseconds.
	Late int64
	// Awaited is how long the look waited for the lock of the process's mappings before the stop, in nanoseconds; 0 if it
	// did not.
	Awaited int64
	// Copying is how long a freeze took to copy memory, in nanoseconds, with so many system calls.
	Copying int64
	Calls   int
	// Why is why it took so long, if it took longer than LongFreeze.
	Why ptrace.Cause
	// OnCPU: the thread was on a processor when the tick was due. A running thread
	// without it was queued for one; a sleeping one with it has gone to sleep
	// since, in the call that it was in.
	OnCPU bool
	// Basis is why OnCPU may be believed.
	Basis sample.Basis
	// Restarted: a system call that the interrupt broke was restarted.
	Restarted bool
	// Broken: one gives EINTR or EAGAIN to the program. Told: a supervisor is told twice of one. BrokenCall is its
	// number, negative if that is not known.
	Broken, Told bool
	BrokenCall   int64
	// Left tells of the time since the thread's last look, if it was left alone meanwhile.
	Left sample.LeftAlone
	// Kernel are the kernel's frames above the system call or interrupt, the innermost first, where they are known.
	Kernel []uint64
	// KernelText has the kernel's functions that a sleeper is in, for [procmem.NextKernelFrame]; empty: not known.
	KernelText []byte

	recalled bool        // the registers are those of the last freeze, in the same place
	refused  bool        // it lacks a register, and a freeze was not allowed
	short    bool        // less was copied than is needed, for the limit of a pause
	pieced   bool        // it was copied by an outline
	lost     bool        // which did not lead to the outermost frame
	deep     bool        // it was deeper than what was made room for
	toTop    bool        // it was to be copied up to Needs.Top
	toKnown  bool        // Needs.Top said where the stack ends
	tailAt   frames.Addr // where the outermost frames begin, behind a part that was left out; 0: none was
	by       *outline
	asked    int // how many bytes of stack the kernel was asked for with a sample
	buf      []byte
	touched  int // so many bytes of buf the kernel has provided
	extra    []byte
	wchan    []byte // the kernel function that it sleeps in, where Call says nothing
	wchanBuf [64]byte
	near     [waits.Around]byte // around the word that it waits at in futex(2)
	nearAt   uint64
	nearLen  int
	pool     *Pool
	charged  int64 // bytes of buf counted as out in pool
	waits    int64 // and of these as waiting
}

// Recalled reports whether the registers of a peek are those that a freeze has seen in
// the same place.
func (s *Shot) Recalled() bool { return s.recalled }

// endsBeforeTop reports whether a complete walk that has reached so far ended well before Needs.Top, and more was
// copied for that. Top is a margin beyond the last end of the same stack.
func (s *Shot) endsBeforeTop(reach frames.Addr) bool {
	switch {
	case !s.toKnown:
		return false
	case s.tailAt != 0:
		return reach <= s.tailAt
	}
	return s.deep && s.Mem.Stack.Addr+uint64(len(s.Mem.Stack.Bytes))-reach > 2*copyMargin
}

// Surprising reports whether what was known of the stack did not fit: the next looks should know of this one's walk.
func (s *Shot) Surprising() bool { return s.lost }

// maxRegions is the number of further pieces of memory that a freeze can copy: of other stacks, and of this one.
const maxRegions = 7 + maxPieces + maxSteppedTo + planRegions

// leastTouched is how much of a stack is expected where nothing is known of it, in bytes.
const leastTouched = 16 << 10

// touch has the kernel provide the pages of the buffer that the copy of a stack of n bytes takes. Nobody is stopped
// yet: else it would do so page by page while a thread is.
func (s *Shot) touch(n int) {
	n = min(max(n+copyMargin, leastTouched), len(s.buf))
	touch(s.buf[min(s.touched, n):n])
	s.touched = max(s.touched, n)
}

// touch writes to each page of a buffer.
func touch(b []byte) {
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 0
	}
	if len(b) > 0 {
		b[len(b)-1] = 0
	}
}

// keepRegions copies further regions into the shot: the buffers that they were
// read into are used again for the next thread.
func (s *Shot) keepRegions(rs []frames.Region) {
	n := 0
	for i := range rs {
		n += len(rs[i].Bytes)
	}
	s.roomForRegions(n)
	s.extra = s.extra[:0]
	for i := range rs {
		at := len(s.extra)
		s.extra = append(s.extra, rs[i].Bytes...)
		s.Mem.Others = append(s.Mem.Others, frames.Region{Addr: rs[i].Addr, Bytes: s.extra[at:]})
	}
}

// roomForRegions makes room for n bytes of further regions. Depths vary: the next ones are as large, or not much
// larger.
func (s *Shot) roomForRegions(n int) {
	if cap(s.extra) < n {
		s.extra = make([]byte, 1<<bits.Len(uint(n)))
		touch(s.extra)
	}
}

// room gives the shot a buffer of n bytes, before anything is stopped.
func (s *Shot) room(n int) {
	if cap(s.buf) < n {
		s.buf, s.touched = make([]byte, n), 0
	}
	s.buf = s.buf[:n]
	if s.pool != nil {
		held := int64(cap(s.buf))
		s.pool.out.Add(held - s.charged)
		s.charged = held
	}
}

// keepRoom is the largest buffer that is kept for use again, in bytes: those of a
// few deep stacks must not become those of all.
const keepRoom = 512 << 10

// keepFree is how many bytes of buffers a pool keeps for use again in all: more than wait in ordinary ticks. When the
// unwinder was held up, there are many more, once.
const keepFree = 24 << 20

// Pool keeps shots for use again. The tracer takes, the unwinder gives back.
type Pool struct {
	free    chan *Shot
	out     atomic.Int64
	waiting atomic.Int64
	kept    atomic.Int64 // bytes in free
}

// Out gives the bytes that the stacks of shots take which were taken and not yet given back. Any
// goroutine may call it.
func (p *Pool) Out() int64 { return p.out.Load() }

// KernelOnly reports whether the thread never runs in user space: all its registers are zero (see frames.Walker).
func (s *Shot) KernelOnly() bool { return s.Regs.PC == 0 && s.Regs.SP() == 0 }

// Waits counts the shot, which is complete, as one that waits to be unwound, until it is
// given back, and gives its bytes.
func (s *Shot) Waits() int64 {
	if s.pool != nil && s.waits == 0 {
		s.waits = s.charged
		s.pool.waiting.Add(s.waits)
	}
	return s.waits
}

// Waiting gives the bytes of stack in shots that wait to be unwound ([Shot.Waits]): those of
// looks that are under way are not among them. Any goroutine may call it.
func (p *Pool) Waiting() int64 { return p.waiting.Load() }

// NewPool gives a pool that holds at most n shots.
func NewPool(n int) *Pool {
	return &Pool{free: make(chan *Shot, n)}
}

// Get gives a shot, a new one if none is free. It is pinned: the channel's lock would bring up a request to make room
// that was dropped before ([ptrace.Pin]). Then the tracer would wait for an ordinary thread of this process.
func (p *Pool) Get() *Shot {
	ptrace.Pin()
	defer ptrace.Unpin()
	select {
	case s := <-p.free:
		p.kept.Add(-int64(cap(s.buf)))
		return s
	default:
		return &Shot{pool: p}
	}
}

// Put gives a shot back; it must not be used any more.
func (p *Pool) Put(s *Shot) {
	if s == nil {
		return
	}
	p.out.Add(-s.charged)
	p.waiting.Add(-s.waits)
	s.charged, s.waits = 0, 0
	room := int64(cap(s.buf))
	if room > keepRoom || p.kept.Load()+room > keepFree {
		return
	}
	p.kept.Add(room) // before the shot can be taken again
	select {
	case p.free <- s:
	default:
		p.kept.Add(-room)
	}
}

// Wait says what a thread that does not run waits for. That is the name of the system call that it sleeps in, or
// "stopped", or the kernel's reason where it sleeps in none, as for a page. It is empty for a running one, and where
// the kernel does not say.
func (s *Shot) Wait() string {
	switch s.State {
	case sample.Running:
		return ""
	case sample.Stopped:
		return "stopped"
	}
	return process.WaitLabel(s.Regs.Arch, s.State.Letter()[0], s.Call.Nr, s.wchan)
}

// Copied gives the bytes of stack that the look copied, further pieces such as the stack of a goroutine included. It
// does not count what was read to find them.
func (s *Shot) Copied() int64 {
	n := len(s.Mem.Stack.Bytes)
	for i := range s.Mem.Others {
		n += len(s.Mem.Others[i].Bytes)
	}
	return int64(n)
}
