// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/base/refusal"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/waits"
	"prywalk/ptrace"
)

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

// ReadKernelStacks makes passive reads include [KernelStack.KernelText], if permitted.
func (o *Observer) ReadKernelStacks() { o.passive.kernel.wanted = true }

func (k *kernelStacks) read(t *Thread, s *RawSample) {
	s.KernelText = s.KernelText[:0]
	if !k.wanted || t.sleep.unconfirmedSinceRead {
		return
	}
	if cap(s.KernelText) == 0 {
		s.KernelText = make([]byte, 0, maxKernelText)
	}
	text, err := t.files.KernelStack(s.KernelText[:maxKernelText])
	if err != nil {
		k.failed++
		k.wanted = !errors.Is(err, refusal.Denied) && k.failed < kernelTries
		return
	}
	s.KernelText, k.failed = text, 0
}

type futexCopy struct {
	bytes [waits.CopySize]byte
	addr  uint64
	n     int // 0: none
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
	if s.State != sample.Sleeping || s.Sched.Runs-t.clocks.last.Runs > 1 || !stop.SchedOK {
		s.futexCopy.n = 0
	}
}

func isRestart(nr int64) bool { return nr == unix.SYS_RESTART_SYSCALL }

// FutexCopy returns the copy around a sleeper's futex(2) word, valid as long as the raw sample.
func (s *RawSample) FutexCopy() waits.FutexCopy {
	return waits.FutexCopy{Addr: s.futexCopy.addr, Bytes: s.futexCopy.bytes[:s.futexCopy.n]}
}
