// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"prywalk/frames"
	"prywalk/internal/observe/copysize"
	"prywalk/internal/observe/deepstack"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/ptrace"
)

// passiveTries bounds the tries on a thread that runs meanwhile.
const passiveTries = 3

// passiveReader reads sleepers without a stop.
type passiveReader struct {
	copier *copier
	kernel kernelStacks
}

// read returns false if the thread runs, or the kernel does not count arrivals (CONFIG_SCHED_INFO). before are clocks
// of the thread that were read just before.
func (r *passiveReader) read(t *Thread, s *RawSample, before procmem.SchedStat) (asleep bool, err error) {
	for range passiveTries {
		if before.Runs == 0 {
			return false, nil
		}
		call, err := t.files.Syscall()
		if err == refusal.Denied { //nolint:errorlint // Syscall returns it unwrapped; errors.Is allocates on this path
			return false, checkStoppable(t.files)
		}
		if err != nil {
			return false, err
		}
		if call.Running {
			return false, nil
		}
		if call.SP == 0 && isZombie(t.files) {
			return false, ptrace.ErrZombie
		}
		if err := r.copyAsleep(t, s, &call); err != nil {
			return false, err
		}
		after, err := t.files.SchedStat()
		if err != nil {
			return false, err
		}
		if after.Runs == before.Runs {
			r.keep(t, s, &call, after)
			return true, nil
		}
		before = after
	}
	return false, nil
}

// copyAsleep copies what a walk of the sleeper needs. It holds if the run count stays the same.
func (r *passiveReader) copyAsleep(t *Thread, s *RawSample, call *procmem.SyscallInfo) error {
	if err := r.copier.copyAt(t, s, *call); err != nil {
		return err
	}
	s.recalled = t.sleep.kept.recallOrAwaitRoot(s, call, t.hints().Root)
	r.copier.copyOtherMemory(t, s)
	copyFutexWord(t, s, call)
	r.kernel.read(t, s, call)
	return nil
}

// keep completes the sample of a passive read that is proved: sched are the clocks read after it.
func (r *passiveReader) keep(t *Thread, s *RawSample, call *procmem.SyscallInfo, sched procmem.SchedStat) {
	s.Sched = sched
	s.At = procmem.Now()
	s.How = ByPassiveRead
	s.Call = *call
	t.sleep.unconfirmedSinceRead = true // until it is found unchanged
	r.kernel.confirm()
	if call.Nr < 0 || isRestart(call.Nr) {
		s.wchan, _ = t.files.Wchan(s.wchanBuf[:]) // may be hidden
	}
}

// checkStoppable returns nil if a thread may be stopped whose /proc syscall file is unreadable, as CAP_SYS_PTRACE does
// not override its mode. A sleeper may not: its call is unknown.
func checkStoppable(files *procmem.ThreadFiles) error {
	var st procmem.Stat
	if err := files.Stat(&st); err != nil {
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

func (c *copier) copyAt(t *Thread, s *RawSample, call procmem.SyscallInfo) error {
	arch := process.HostArch()
	s.Regs = frames.Regs{Arch: arch, PC: call.PC}
	s.Regs.Set(arch.SP(), call.SP)
	if call.Nr >= 0 {
		setArguments(&s.Regs, &call)
	}
	below := uint64(0)
	switch {
	case call.Nr < 0: // a red zone may be in use
		below = redZone
	case arch == frames.AArch64:
		below = belowSP
	}
	if arch == frames.AArch64 {
		s.Regs.PACMask = signatureBits
	}
	err := s.copyTopOrStack(t, call.SP, below)
	if t.reopenAfterExec(len(s.Mem.Stack.Bytes)) {
		err = s.copyTopOrStack(t, call.SP, below)
	}
	return err
}

func (s *RawSample) copyTopOrStack(t *Thread, sp, below frames.Addr) error {
	if outline := t.hints().outlineFor(sp); outline != nil {
		return s.copyTop(t, sp, outline)
	}
	return s.copyStack(t, sp, below)
}

// belowSP is where Go saves the caller's frame pointer on arm64.
const belowSP = 16

// signatureBits are a code pointer's bits with its signature (Documentation/arm64/pointer-authentication).
const signatureBits = 0x7f << 48

// copyOtherMemory copies what a stop copies besides the stack ([OtherMemory]). The thread pointer is that of the last
// stop.
func (c *copier) copyOtherMemory(t *Thread, s *RawSample) {
	hints := t.hints()
	s.outlineFailed = hints.Deep.Misled
	if s.outline != nil {
		c.deep.Reserve(hints.Bytes)
	}
	t.prepareFindAnchor()
	other := c.otherMemory(t, s, true)
	if other == nil {
		return
	}
	s.Regs.TLS = t.threadPointer()
	c.reader.Reset(t.TID, t.Memory)
	if s.outline != nil || hints.Plan != nil || t.Plans != nil && t.Plans.Load() != nil {
		if m, ok := other.(ptrace.ReadLimiter); ok {
			c.reader.AllowReads(m.ReadLimit())
		}
		c.reader.SetStack(s.Mem.Stack.Addr, s.Mem.Stack.Bytes)
	}
	if hints.Plan != nil && t.Memory != nil {
		t.copies.lastPlan.CheckNodes(t.Memory, hints.Plan)
	}
	if s.outline != nil {
		c.reader.Prefetch(&c.deep, &s.Regs)
	}
	n := other.Regions(&s.Regs, &c.reader, c.regions[:])
	s.outlineFailed = s.outlineFailed || s.outline != nil && c.deep.Misled()
	s.keepOthers(c.regions[:n])
}

// redZone is the memory below sp that a leaf function may use (System V ABI for x86-64, §3.2.2).
const redZone = 128

// copyStack copies from sp − below upwards in one piece.
func (s *RawSample) copyStack(t *Thread, sp, below frames.Addr) error {
	s.copyShape = copyShape{}
	from := t.copyStart(sp, below)
	hints := t.hints()
	asked, end := hints.Bytes, hints.CopyEnd
	if end > from && end-from < uint64(asked) {
		s.Limit, asked = copysize.LimitCopyEnd, int(end-from)
	}
	return s.copyBytes(t, from, asked)
}

// copyTop copies the top only; [copier.copyOtherMemory] copies the rest.
func (s *RawSample) copyTop(t *Thread, sp frames.Addr, o *deepstack.Outline) error {
	s.copyShape = copyShape{outline: o}
	return s.copyBytes(t, t.copyStart(sp, redZone), deepstack.TopBytes)
}

// copyStart returns sp − below, or sp if that is in another mapping.
func (t *Thread) copyStart(sp, below frames.Addr) frames.Addr {
	from := sp - below
	if t.Memory != nil && from&^0xfff != sp&^0xfff && t.Memory.MappingStart(sp) > from {
		return sp
	}
	return from
}

func (s *RawSample) copyBytes(t *Thread, from frames.Addr, asked int) error {
	s.buffers.reserveStack(asked)
	n, err := t.copy(from, s.buffers.stack[:asked])
	// An unmapped stack is empty.
	if n == 0 && err != nil && !errors.Is(err, procmem.ErrFault) {
		return err
	}
	s.setStack(from, n, asked)
	return nil
}

// copy reads by the thread's ID: by that of an ended first thread, reads return 0 bytes.
func (t *Thread) copy(from frames.Addr, buf []byte) (int, error) {
	if t.Memory == nil {
		return procmem.ReadVM(t.TID, from, buf)
	}
	return t.Memory.Copy(t.TID, from, buf), nil
}

// setStack describes a copy of n of the asked bytes.
func (s *RawSample) setStack(from frames.Addr, n, asked int) {
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: from, Bytes: s.buffers.stack[:n]}, Others: s.Mem.Others[:0]}
	s.Mem.StackEnd = from + uint64(n)
	if n == asked {
		s.Mem.StackEnd += copysize.Max
	}
}

func isZombie(files *procmem.ThreadFiles) bool {
	var st procmem.Stat
	return files.Stat(&st) == nil && (st.State == 'Z' || st.State == 'X')
}
