package look

import (
	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
	"prywalk/ptrace"
)

// futexCall gives the number of futex(2).
func futexCall(arch frames.Arch) int64 {
	if arch == frames.AArch64 {
		return 98 // include/uapi/asm-generic/unistd.h
	}
	return 202 // arch/x86/entry/syscalls/syscall_64.tbl
}

// copyNear copies what lies around the word that a sleeper waits at, once in a sleep. Between the two readings of the
// thread's count it is of a moment at which it slept. What is on the copied stack is not read again.
func (s *Shot) copyNear(t *Thread, call *procmem.SyscallInfo) {
	s.nearLen = 0
	addr, ok := uint64(0), false
	if call.Nr == futexCall(s.Regs.Arch) {
		addr, ok = waits.WorthReading(&call.Args)
	}
	if !ok || addr < waits.Before {
		return
	}
	s.nearAt = addr - waits.Before
	stack := &s.Mem.Stack
	if off := s.nearAt - stack.Addr; off < uint64(len(stack.Bytes)) && uint64(len(stack.Bytes))-off >= waits.Around {
		s.nearLen = copy(s.near[:], stack.Bytes[off:])
		return
	}
	if t.Memory != nil && s.nearAt&^0xfff != addr&^0xfff { // the lock may be the first thing in its mapping
		if start := t.Memory.Start(addr); start > s.nearAt && start <= addr {
			s.nearAt = start
		}
	}
	s.nearLen, _ = t.copy(s.nearAt, s.near[:]) // without it no owner is named
}

// keepNear keeps the copy of a sleeper that was frozen in the sleep in which it was peeked at: it has arrived on a
// processor for the stop alone.
func (s *Shot) keepNear(t *Thread, stop *ptrace.Stop) {
	if s.State != Sleeping || s.Sched.Runs-t.before.Runs > 1 || !stop.SchedOK {
		s.nearLen = 0
	}
}

// Near gives what was copied around the word that a sleeper waits at in futex(2). It is the shot's.
func (s *Shot) Near() waits.Copy { return waits.Copy{Addr: s.nearAt, Bytes: s.near[:s.nearLen]} }
