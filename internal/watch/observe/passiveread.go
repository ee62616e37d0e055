// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/waits"
	"prywalk/ptrace"
)

const passiveTries = 3

type passiveReader struct {
	copier *copier
	kernel kernelStacks
}

// read returns false if the thread runs or ran in each try, the kernel does not count arrivals (CONFIG_SCHED_INFO), or
// /proc/PID/task/TID/syscall is denied. before are clocks read just before.
func (r *passiveReader) read(t *Thread, s *RawSample, before procmem.SchedStat) (asleep bool, err error) {
	for range passiveTries {
		if before.Runs == 0 {
			return false, nil
		}
		call, err := t.files.Syscall()
		if err == errs.Denied { //nolint:errorlint // Syscall returns it unwrapped; errors.Is allocates on this path
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

// copyAsleep copies what the walk needs. The copy is valid if the run count stays the same.
func (r *passiveReader) copyAsleep(t *Thread, s *RawSample, call *procmem.SyscallInfo) error {
	if err := s.readRegsAndStack(t, call); err != nil {
		return err
	}
	s.registers.recalled = t.sleep.kept.recallOrAwaitRoot(s, call, t.hints.stack.size.root)
	r.copier.copyOtherMemory(t, s)
	copyFutexWord(t, s, call)
	r.kernel.read(t, s)
	return nil
}

func (s *RawSample) readRegsAndStack(t *Thread, call *procmem.SyscallInfo) error {
	arch := process.HostArch()
	s.Regs = frames.Regs{Arch: arch, PC: call.PC}
	s.Regs.Set(arch.SP(), call.SP)
	if call.Nr >= 0 {
		setArguments(&s.Regs, call)
	}
	below := uint64(0)
	switch {
	case call.Nr < 0: // a red zone may be in use
		below = redZone
	case arch == frames.ARM64:
		below = savedFPARM64
	}
	if arch == frames.ARM64 {
		s.Regs.PACMask = procmem.UserPACMask
	}
	err := s.copyStack(t, call.SP, below)
	if t.reopenAfterExec(len(s.Mem.Stack.Bytes)) {
		err = s.copyStack(t, call.SP, below)
	}
	return err
}

func (r *passiveReader) keep(t *Thread, s *RawSample, call *procmem.SyscallInfo, sched procmem.SchedStat) {
	s.Sched = sched
	s.At = ptrace.Now()
	s.How = ByPassiveRead
	s.Call = *call
	t.sleep.unconfirmedSinceRead = true // until it is found unchanged
	if call.Nr < 0 || isRestart(call.Nr) {
		s.KernelStack.wchan, _ = t.files.Wchan(s.KernelStack.wchanBuf[:]) // may be hidden
	}
}

// checkStoppable returns an error if a stop is not permitted: CAP_SYS_PTRACE does not override the mode of the /proc
// syscall file. A sleeper whose call is unknown may not be stopped.
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
	return errs.Denied
}

func isZombie(files *procmem.ThreadFiles) bool {
	var st procmem.Stat
	return files.Stat(&st) == nil && (st.State == 'Z' || st.State == 'X')
}

// The numbers are DWARF's (System V ABI §A.2.1). arm64's x0 takes the result.
var (
	argumentsX86   = [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, 10, 8, 9}
	argumentsARM64 = [6]uint8{frames.NoReg, 1, 2, 3, 4, 5}
)

// The C library's vfork keeps its return address in an argument register.
func setArguments(regs *frames.Regs, call *procmem.SyscallInfo) {
	where := &argumentsX86
	if regs.Arch == frames.ARM64 {
		where = &argumentsARM64
	}
	for i, reg := range where {
		regs.Set(reg, call.Args[i])
	}
}

// ArgumentRegisters returns DWARF numbers, frames.NoReg for an overwritten register.
func ArgumentRegisters(arch frames.Arch) [6]uint8 {
	if arch == frames.ARM64 {
		return argumentsARM64
	}
	return argumentsX86
}

// kernelStacks needs CAP_SYS_ADMIN. After a passive read it reads no further stack before the thread was found
// unchanged once.
type kernelStacks struct {
	wanted bool
	failed int
}

const (
	maxKernelText = 2 << 10 // bytes
	kernelTries   = 64      // in a row
)

// ReadKernelStacks makes passive reads include [KernelStack.Text], if permitted.
func (o *Observer) ReadKernelStacks() { o.passive.kernel.wanted = true }

func (k *kernelStacks) read(t *Thread, s *RawSample) {
	s.KernelStack.Text = s.KernelStack.Text[:0]
	if !k.wanted || t.sleep.unconfirmedSinceRead {
		return
	}
	if cap(s.KernelStack.Text) == 0 {
		s.KernelStack.Text = make([]byte, 0, maxKernelText)
	}
	text, err := t.files.KernelStack(s.KernelStack.Text[:maxKernelText])
	if err != nil {
		k.failed++
		k.wanted = !errors.Is(err, errs.Denied) && k.failed < kernelTries
		return
	}
	s.KernelStack.Text, k.failed = text, 0
}

type futexCopy struct {
	bytes [waits.CopySize]byte
	addr  uint64
	n     int // 0 means none
}

// Precondition: between the two reads of the run count.
func copyFutexWord(t *Thread, s *RawSample, call *procmem.SyscallInfo) {
	word := &s.futexCopy
	word.n = 0
	addr, ok := uint64(0), false
	if call.Nr == unix.SYS_FUTEX || isRestart(call.Nr) {
		addr, ok = waits.WordWithOwner(&call.Args)
	}
	if !ok || addr < waits.CopyBefore {
		return
	}
	word.addr = addr - waits.CopyBefore
	stack := &s.Mem.Stack
	if off := word.addr - stack.Addr; off < uint64(len(stack.Bytes)) && uint64(len(stack.Bytes))-off >= waits.CopySize {
		word.n = copy(word.bytes[:], stack.Bytes[off:])
		return
	}
	if t.Memory != nil && word.addr&^0xfff != addr&^0xfff {
		if start := t.Memory.MappingStart(addr); start > word.addr && start <= addr {
			word.addr = start
		}
	}
	word.n, _ = t.copy(word.addr, word.bytes[:]) // on error no owner is named
}

func (s *RawSample) dropStaleFutexCopy(t *Thread, stop *ptrace.Stop) {
	if s.State != sample.Sleeping || s.Sched.Runs-t.clocks.Runs > 1 || !stop.SchedOK {
		s.futexCopy.n = 0
	}
}

func isRestart(nr int64) bool { return nr == unix.SYS_RESTART_SYSCALL }

// FutexCopy returns the copy around a sleeper's futex(2) word, valid as long as the raw sample.
func (s *RawSample) FutexCopy() waits.FutexCopy {
	return waits.FutexCopy{Addr: s.futexCopy.addr, Bytes: s.futexCopy.bytes[:s.futexCopy.n]}
}
