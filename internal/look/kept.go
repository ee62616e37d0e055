package look

import (
	"bytes"
	"sync/atomic"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// On arm64 a thread that sleeps in a system call which a function without a frame has
// made, as Go's and some of the C library's do, has its return address in the link
// register, and a peek sees sp and pc only. Where a walk says so ([Thread.Unproven])
// the thread is frozen once in that sleep, if the kernel goes on with the call by
// itself. The registers of that stop are then kept, and hold for a peek that finds the
// thread in the same place of the same call with the same bytes on its stack.

// keptBytes is how much of the stack must be the same.
const keptBytes = 512

// kept is what is remembered of a freeze of a sleeper.
type kept struct {
	call  procmem.SyscallInfo
	regs  frames.Regs
	stack [keptBytes]byte
	n     int // bytes of stack; 0: nothing is kept
}

// keep remembers the registers of a shot.
func (k *kept) keep(s *Shot) {
	k.call, k.regs = s.Call, s.Regs
	k.n = copy(k.stack[:], s.from(s.Call.SP))
}

// recall completes the registers of a peek if they are known.
func (k *kept) recall(s *Shot, call *procmem.SyscallInfo) {
	if k.n == 0 || *call != k.call {
		return
	}
	if b := s.from(call.SP); len(b) >= k.n && bytes.Equal(b[:k.n], k.stack[:k.n]) {
		s.Regs = k.regs
	}
}

// from gives the copied stack from an address upwards.
func (s *Shot) from(addr frames.Addr) []byte {
	st := &s.Mem.Stack
	if addr < st.Addr || addr-st.Addr > uint64(len(st.Bytes)) {
		return nil
	}
	return st.Bytes[addr-st.Addr:]
}

// lacking has places at which peeks lacked a register: they do so for every thread.
var lacking [256]atomic.Uint64

// lackingAt gives where a place is noted.
func lackingAt(pc frames.Addr) *atomic.Uint64 { return &lacking[pc/4%uint64(len(lacking))] }

// Unproven tells that the walk of a shot of this thread lacked a register that a peek
// cannot see. Any goroutine may call it.
func (t *Thread) Unproven(s *Shot) {
	if s.How == ByPeek && s.Call.Nr >= 0 {
		lackingAt(s.Regs.PC).Store(s.Regs.PC)
		t.again.Store(s.Regs.Arch == frames.AArch64)
	}
}

// lacks reports whether a sleeping thread that was peeked at is to be frozen for a
// register that the peek lacks, and notes its call.
func (l *Looker) lacks(t *Thread, s *Shot) bool {
	_, known := s.Regs.Get(s.Regs.Arch.RA())
	if l.arch != frames.AArch64 || known || l.rung == OnlyPeek || l.ctl.ReadOnly() || s.Call.Nr < 0 ||
		lackingAt(s.Regs.PC).Load() != s.Regs.PC || !interruptible(t, &s.Call) || !l.pause.allows(t) {
		return false
	}
	t.asleepIn = s.Call
	return true
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
	s.State, s.Call, s.OnCPU, s.wchan = Sleeping, *call, false, s.wchan[:0]
	t.kept.keep(s)
	t.base.valid = false // it is on its way back; the next look is a peek
}
