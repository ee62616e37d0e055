// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/samestack"
	"prywalk/internal/sample"
	"prywalk/internal/waits"
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
		if err == refusal.Denied { //nolint:errorlint // Syscall returns it unwrapped; errors.Is allocates on this path
			return false, t.stoppable()
		}
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
		t.futex.noted, l.kernel.found.inLen = false, 0
		if s.KernelText = s.KernelText[:0]; !t.slept.compare(t, s, &call) {
			l.kernel.read(t, s, &call)
		}
		after, err := t.files.SchedStat()
		if err != nil {
			return false, err
		}
		if after.Runs == before.Runs {
			s.Sched, s.At, s.How, s.Call = after, procmem.Now(), ByPeek, call
			t.restless = true // until it is found asleep once more
			t.futex.proven()
			l.kernel.proven()
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

// stoppable is for a thread whose system call the kernel does not tell: CAP_SYS_PTRACE lets prywalk trace another
// user's thread, but does not override the mode of that file. A thread that runs, or is stopped by job control, is
// stopped as ever. A sleeper is left alone ([refusal.Denied]): what a stop does to its call is not known.
func (t *Thread) stoppable() error {
	var st procmem.Stat
	if err := t.files.Stat(&st); err != nil {
		return err
	}
	switch sample.StateOf(st.State) {
	case sample.Running, sample.Stopped:
		return nil
	}
	if st.State == 'Z' || st.State == 'X' {
		return ptrace.ErrZombie
	}
	return refusal.Denied
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
	t.foreseeAlone()
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

// # Sleeps that are alike
//
// Who wakes often sleeps mostly where it slept before. A peek that finds the call, what lies around the word waited
// for, and all words that the last walk depended on as they were has found that stack again. Its shot would tell
// nothing new: it is not handed over, walked, and named again. Only the clocks are told. The proof of sleep is that of
// any peek. What can change without the stack is told anew after a while: modules, names of descriptors and of threads,
// the kernel's functions.

// sleptFor is for how long a shot stands for later sleeps at first, in nanoseconds. If the sleep after that is the same
// once more, the next shot stands for twice as long, up to mostSleptFor. A shot costs as much as four looks without.
const (
	sleptFor     = 1e9
	mostSleptFor = 4e9
)

// slept is what is known of the last shot of a thread, if that was asleep.
type slept struct {
	at      int64 // its moment; 0: something else was told of since
	lasts   int64 // for how long it stands, ns
	call    procmem.SyscallInfo
	words   *samestack.Words // what its walk depends on; nil: that is not known yet
	nearAt  uint64
	near    [waits.Around]byte
	nearLen int
	usable  bool  // later sleeps can be alike
	wanted  bool  // the look under way may tell that it is alike
	alike   bool  // it is
	lastAt  int64 // the moment of the last look that was

	// wchan is the kernel's function that the thread slept in; asleep: it does so at the look under way.
	wchan     [40]byte
	wchanLen  int
	wchanRead bool // by the look under way
	asleep    bool
}

// beginLook begins with a look. may: it need not hand a shot over.
func (p *slept) beginLook(t *Thread, may bool) {
	n := t.needs.get()
	p.alike, p.asleep = false, false
	if p.at != 0 && n.SleepAt == p.at {
		p.words = n.Sleep
	}
	p.wanted = may && p.usable && p.at != 0 && p.words != nil && t.alone == nil && len(t.kept.stack) == 0
}

// compare finds out whether a copy shows the same sleep once more, and the last shot is not too old.
func (p *slept) compare(t *Thread, s *Shot, call *procmem.SyscallInfo) bool {
	p.alike = p.wanted && p.sameWait(s, call) && len(s.Mem.Others) == 0 && p.words.Hold(call, &s.Mem.Stack)
	p.asleep, p.wchanRead = false, false
	alike := p.alike && procmem.Now()-p.at < p.lasts
	switch {
	case t.sampled == 0: // stat tells, which has the processor, too
	case p.alike && !alike:
		p.noteWchan(t)
	case p.alike && p.wchanLen > 0:
		p.asleep = p.inWchan(t)
		p.alike, alike = p.asleep, p.asleep
	}
	return alike
}

// noteWchan notes which function of the kernel the thread sleeps in. Where that is the one of the last shot, the thread
// is in that shot's state: it is stopped in another. It is cheaper than stat.
func (p *slept) noteWchan(t *Thread) {
	var buf [len(p.wchan) + 1]byte
	name, err := t.files.Wchan(buf[:])
	if p.wchanRead = err == nil && len(name) <= len(p.wchan); p.wchanRead {
		p.wchanLen = copy(p.wchan[:], name)
	}
}

// inWchan reports whether the thread sleeps in that function.
func (p *slept) inWchan(t *Thread) bool {
	var buf [len(p.wchan) + 1]byte
	name, err := t.files.Wchan(buf[:])
	return err == nil && string(name) == string(p.wchan[:p.wchanLen])
}

// sameWait reports whether a thread waits for the same.
func (p *slept) sameWait(s *Shot, call *procmem.SyscallInfo) bool {
	return p.sameCall(s.Regs.Arch, call) &&
		s.nearLen == p.nearLen && (s.nearLen == 0 || s.nearAt == p.nearAt && s.near == p.near)
}

// sameCall reports whether a thread sleeps in the same call. What futex(2) compares first is no part of that.
func (p *slept) sameCall(arch frames.Arch, call *procmem.SyscallInfo) bool {
	args := call.Args
	if call.Nr == futexCall(arch) {
		args[2] = p.call.Args[2]
	}
	return call.Nr == p.call.Nr && args == p.call.Args
}

// again reports whether the look under way has nothing to tell but clocks.
func (p *slept) again(s *Shot) bool {
	p.alike = p.alike && s.State == sample.Sleeping && !s.OnCPU
	return p.alike && s.At-p.at < p.lasts
}

// told takes note of a shot that is handed over.
func (p *slept) told(s *Shot) {
	if p.alike {
		p.lasts = min(2*p.lasts, mostSleptFor)
	} else {
		p.words, p.lasts = nil, sleptFor
	}
	if !p.wchanRead {
		p.wchanLen = 0
	}
	p.at, p.call, p.nearAt, p.nearLen, p.near = s.At, s.Call, s.nearAt, s.nearLen, s.near
	p.usable = s.MayRecur()
}

// SeenElsewhere takes note that something else was told of the thread than its looks: the kernel's samples.
func (t *Thread) SeenElsewhere() { t.slept.at = 0 }

// LastSleepAt gives the moment of the last look that came to [SleptAgain], CLOCK_MONOTONIC in nanoseconds.
func (t *Thread) LastSleepAt() int64 { return t.slept.lastAt }

// MayRecur reports whether a later sleep of the thread may be like that of the shot.
func (s *Shot) MayRecur() bool {
	return s.How == ByPeek && s.State == sample.Sleeping && !s.OnCPU && s.Call.Nr >= 0 && !s.recalled &&
		len(s.Mem.Others) == 0
}

// shot gives a shot to be filled in.
func (l *Looker) shot() *Shot {
	s := l.spare
	if l.spare = nil; s == nil {
		s = l.pool.Get()
	}
	return s
}
