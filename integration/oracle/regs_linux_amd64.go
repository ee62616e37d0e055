// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// nr is the system call that the thread is about to make, if any.
func readRegs(tid int, out *frames.Regs) (nr uint64, err error) {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return 0, fmt.Errorf("registers of thread %d: %w", tid, err)
	}
	var b [procmem.LenRegsX86]byte
	for i, v := range [...]uint64{
		r.R15, r.R14, r.R13, r.R12, r.Rbp, r.Rbx, r.R11, r.R10, r.R9, r.R8, r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi,
		r.Orig_rax, r.Rip, r.Cs, r.Eflags, r.Rsp, r.Ss, r.Fs_base, r.Gs_base, r.Ds, r.Es, r.Fs, r.Gs,
	} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	procmem.DecodeRegsX86(b[:], out)
	return r.Rax, nil
}

func skipTrap(int) error { return nil }

// Registers of a mark's name and magic number.
const (
	markName  = frames.X86RAX
	markMagic = frames.X86RCX
)
