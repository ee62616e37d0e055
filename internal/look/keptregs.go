// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// A peek sees the stack pointer and the program counter. Most stacks need no more, and where one does, the walk looks
// for the register on the stack (package frames, Walker.Hypotheses). Where nothing there proves itself, a freeze
// helps, as on arm64 where a thread sleeps in a function that keeps its return address in the link register. The
// thread is frozen once in that sleep, if the kernel goes on with the call unharmed ([interruptible]). The registers
// of that stop are then kept. They hold for a peek that finds the thread in the same place of the same call. The
// bytes on its stack must be the same, from the stack pointer to the thread's first function.
//
// The stop makes the thread run once itself: it arrives on a processor to stop, and again
// to go back to sleep. The first look after that is therefore a peek, which has the
// kept registers, and from then on the thread is reused.

// keptMost bounds how much of a stack is kept, in bytes: of those that are deeper, the
// inner part must be the same.
const keptMost = 16 << 10

// kept is what is remembered of a freeze of a sleeper.
type kept struct {
	call  procmem.SyscallInfo
	regs  frames.Regs
	stack []byte // from the stack pointer up; empty: nothing is kept
	runs  uint64 // the thread's arrivals on a processor as of the stop
}

// keep remembers the registers of a shot.
func (k *kept) keep(s *Shot) {
	k.call, k.regs, k.runs = s.Call, s.Regs, s.Sched.Runs
	b := s.from(s.Call.SP)
	k.stack = append(k.stack[:0], b[:min(len(b), keptMost)]...)
}

// recall completes the registers of a peek if they are known. It gives the call that the thread is in its own name
// back: the kernel goes on with some as restart_syscall. The thread's outermost frame has the stack pointer root, 0
// if it is not known.
func (k *kept) recall(s *Shot, call *procmem.SyscallInfo, root frames.Addr) bool {
	if len(k.stack) == 0 || !k.same(call) {
		return false
	}
	*call = k.call
	n := len(k.stack)
	if depth := root - call.SP; depth < uint64(n) {
		n = int(depth)
	}
	if b := s.from(call.SP); len(b) < n || !bytes.Equal(b[:n], k.stack[:n]) {
		return false
	}
	s.Regs = k.regs
	return true
}

// recall does so for a peek of this thread. How much of the stack has to be the same is known when the shot of the
// freeze was walked, which may be after this look. What that walk asks for then makes the next look another peek.
func (t *Thread) recall(s *Shot, call *procmem.SyscallInfo) bool {
	t.awaitsRoot = false
	if t.kept.recall(s, call, t.needs.get().Root) {
		return true
	}
	t.awaitsRoot = len(t.kept.stack) > 0 && t.kept.same(call)
	return false
}

// same reports whether a thread is in the place where the registers were kept.
func (k *kept) same(call *procmem.SyscallInfo) bool {
	return call.SP == k.call.SP && call.PC == k.call.PC && call.Args == k.call.Args &&
		(call.Nr == k.call.Nr || isRestart(call.Nr))
}

// back reports whether a thread is, as far as can be told, still in the sleep in which it was frozen. It has arrived
// once since, and is where it was.
func (k *kept) back(call *procmem.SyscallInfo, runs uint64) bool {
	return len(k.stack) > 0 && k.same(call) && (runs == k.runs+1 || isRestart(call.Nr))
}

// isRestart reports whether a number is restart_syscall's.
func isRestart(nr int64) bool {
	if hostArch() == frames.AArch64 {
		return nr == 128
	}
	return nr == 219
}

// from gives the copied stack from an address upwards.
func (s *Shot) from(addr frames.Addr) []byte {
	st := &s.Mem.Stack
	if addr < st.Addr || addr-st.Addr > uint64(len(st.Bytes)) {
		return nil
	}
	return st.Bytes[addr-st.Addr:]
}

// stillAsleep makes a shot that of a sleeper, if the thread was frozen in the call
// that it was peeked at in.
func (t *Thread) stillAsleep(s *Shot, stop *ptrace.Stop) {
	call := &t.asleepIn
	// The kernel may have set the thread back onto the instruction before.
	if call.Nr < 0 || stop.Kind != ptrace.KindInterrupt || s.Regs.SP() != call.SP || call.PC-s.Regs.PC > 4 {
		return
	}
	s.Regs.PC = call.PC
	s.State, s.Call, s.OnCPU, s.Basis, s.wchan = sample.Sleeping, *call, false, sample.Exact, s.wchan[:0]
	t.kept.keep(s)
	// As long as it has not arrived again, to go back to sleep, it is where it was.
	t.base.state = sample.Sleeping
}

// unprovenSites has places at which walks of peeks lacked a register. It is a table without
// chains: a place that another one pushes out is found again by the next walk.
type unprovenSites [1024]uint64

// siteKey numbers the place at which a peek at a thread lacks a register. On x86-64 it depends on who called the
// function that sleeps, and so on the thread and the depth of its stack. On arm64 it is a matter of the function
// alone.
func siteKey(tid int, s *Shot) uint64 {
	if s.Regs.Arch == frames.AArch64 {
		return s.Regs.PC
	}
	return (s.Regs.PC*0x9e3779b97f4a7c15 ^ s.Regs.SP()*0xc2b2ae3d27d4eb4f ^ uint64(tid)*0x165667b19e3779f9) | 1
}

// slot gives where a place is noted.
func (u *unprovenSites) slot(place uint64) *uint64 {
	return &u[place*0x9e3779b97f4a7c15>>54%uint64(len(u))]
}

// note notes a place, if it is one.
func (u *unprovenSites) note(place uint64) {
	if place != 0 {
		*u.slot(place) = place
	}
}

// has reports whether a place was noted.
func (u *unprovenSites) has(place uint64) bool { return *u.slot(place) == place }

// lacksRegister takes note of a walk that lacked a register.
func (k *Walks) lacksRegister(s *Shot) {
	if s.How != ByPeek || !interruptible(k.thread, &s.Call) {
		return
	}
	k.needs.Unproven = siteKey(k.thread.TID, s)
	if !s.refused { // and would be again
		k.needs.Retries++
	}
}

// mayFreezeSleepers reports whether any sleeper may be frozen.
func (l *Looker) mayFreezeSleepers() bool { return l.rung != OnlyPeek && !l.ctl.ReadOnly() }

// lacksRegister reports whether a sleeping thread that was peeked at is to be frozen for a
// register that the peek lacks, and notes its call.
func (l *Looker) lacksRegister(t *Thread, s *Shot) bool {
	if s.recalled || !l.unproven.has(siteKey(t.TID, s)) {
		return false
	}
	s.refused = !l.mayFreezeSleepers() || t.kept.back(&s.Call, s.Sched.Runs) || !interruptible(t, &s.Call) ||
		t.harmed() || !l.pause.allows(t)
	if !s.refused {
		t.asleepIn = s.Call
	}
	return !s.refused
}
