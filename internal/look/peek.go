package look

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// peekTries is how often a peek is tried on a thread that keeps running between
// the two reads of its count.
const peekTries = 3

// peek copies the stack of a thread that does not run. It reports false, without
// an error, if the thread was found running.
func (l *Looker) peek(t *Thread, s *Shot, before procmem.SchedStat) (bool, error) {
	for range peekTries {
		call, err := t.files.Syscall()
		if err != nil {
			return false, err
		}
		if call.Running {
			return false, nil
		}
		if call.SP == 0 && t.zombie() {
			return false, ptrace.ErrZombie
		}
		if err := l.copyAt(t, s, call); err != nil {
			return false, err
		}
		s.recalled, s.refused = t.recall(s, &call), false
		l.extra(t, s)
		l.copyNear(t, s, &call)
		l.kernel.read(t, s)
		after, err := t.files.SchedStat()
		if err != nil {
			return false, err
		}
		if after.Runs == before.Runs {
			s.Sched, s.At, s.How, s.Call = after, procmem.Now(), ByPeek, call
			t.restless = true // until it is found asleep once more
			s.Stopped, s.Restarted, s.Broken, s.Told = 0, false, false, false
			s.wchan, s.Kernel = s.wchan[:0], s.Kernel[:0]
			if call.Nr < 0 {
				s.wchan, _ = t.files.Wchan(s.wchanBuf[:]) // it may be kept from this user
			}
			return true, nil
		}
		before = after
	}
	return false, nil
}

// copyAt fills in the two registers that are known and copies the stack. What
// lies at the stack pointer of a sleeping thread is all there is: it is inside of
// the kernel, so that nothing of it is below.
func (l *Looker) copyAt(t *Thread, s *Shot, call procmem.SyscallInfo) error {
	s.Regs = frames.Regs{Arch: l.arch, PC: call.PC}
	s.Regs.Set(l.arch.SP(), call.SP)
	if call.Nr >= 0 {
		setArguments(&s.Regs, &call)
	}
	below := uint64(0)
	switch {
	case call.Nr < 0: // not in a call: a leaf function's red zone is in use
		below = redZone
	case l.arch == frames.AArch64:
		below = belowSP
	}
	if l.arch == frames.AArch64 {
		s.Regs.PACMask = signatureBits
	}
	return s.copyStack(t, call.SP, below)
}

// On arm64 Go saves the caller's frame pointer in the word below the stack pointer.
const belowSP = 16

// signatureBits is where pointer authentication puts the signature of a code pointer:
// bits 54 to 48, or fewer of these where addresses are longer (the kernel's
// Documentation/arm64/pointer-authentication). In addresses of programs that do not
// ask for longer ones they are zero.
const signatureBits = 0x7f << 48

// extra copies what a freeze would copy besides the stack. The thread pointer does
// not change in a thread's life: it is known if the thread was ever frozen.
func (l *Looker) extra(t *Thread, s *Shot) {
	extra := l.extraOf(t)
	if extra == nil {
		return
	}
	s.Regs.TLS = t.tls
	l.reader.ReadFrom(t.TID, t.Memory)
	if t.needs.get().Plan != nil || t.Plans != nil && t.Plans.Load() != nil {
		l.reader.Allow(readsOf(extra))
		l.reader.Copied(s.Mem.Stack.Addr, s.Mem.Stack.Bytes)
	}
	l.planned.asleep = true
	n := extra.Regions(&s.Regs, &l.reader, l.regions[:])
	l.planned.asleep = false
	s.keepRegions(l.regions[:n])
}

// redZone is the memory below the stack pointer that a leaf function may use
// (System V ABI for x86-64, §3.2.2).
const redZone = 128

// copyStack reads the stack from some bytes below the stack pointer upwards. It does so by way of the thread itself:
// a process whose first thread has ended has no memory by that one's number.
func (s *Shot) copyStack(t *Thread, sp, below frames.Addr) error {
	s.room(t.needs.get().Bytes)
	s.pieced, s.deep, s.short, s.tailAt = false, false, false, 0
	from := sp - below
	if t.Memory != nil && from&^0xfff != sp&^0xfff && t.Memory.Start(sp) > from {
		from = sp // what lies below is another mapping
	}
	asked := len(s.buf)
	top := t.needs.get().Top
	if s.toTop = top > from && top-from < uint64(asked); s.toTop {
		asked = int(top - from)
	}
	n, err := t.copy(from, s.buf[:asked])
	if t.missed(n) {
		n, err = t.copy(from, s.buf[:asked])
	}
	// A stack that is not there is no stack, but it is known where.
	if n == 0 && err != nil && !errors.Is(err, procmem.ErrFault) {
		return err
	}
	s.setStack(from, n, asked)
	return nil
}

// copy copies memory of a thread's process. The other threads run, but must not notice it either, and may be held
// all together ([FreezeAll]).
func (t *Thread) copy(from frames.Addr, buf []byte) (int, error) {
	if t.Memory == nil {
		return procmem.ReadVM(t.TID, from, buf)
	}
	return t.Memory.Copy(t.TID, from, buf), nil
}

// setStack describes the copied bytes. A copy that ended before what was asked for ended
// at the end of the mapping.
func (s *Shot) setStack(from frames.Addr, n, asked int) {
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buf[:n]}, Others: s.Mem.Others[:0]}
	s.Mem.StackEnd = from + uint64(n)
	if n == asked {
		s.Mem.StackEnd += mostCopy
	}
}

// zombie reports whether a thread has ended and only waits for its process to end:
// the first thread of a process stays so when it ends before the others.
func (t *Thread) zombie() bool {
	var st procmem.Stat
	return t.files.Stat(&st) == nil && (st.State == 'Z' || st.State == 'X')
}
