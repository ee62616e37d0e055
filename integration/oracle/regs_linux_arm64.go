// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// NT_PRSTATUS, and NT_ARM_PAC_MASK, the bits of pointer signatures.
const (
	ntPRStatus = 1
	ntPACMask  = 0x406
)

// nr is the system call that the thread is about to make, if any.
func readRegs(tid int, out *frames.Regs) (nr uint64, err error) {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, ntPRStatus, &r); err != nil {
		return 0, fmt.Errorf("registers of thread %d: %w", tid, err)
	}
	var b [procmem.LenRegsARM64]byte
	for i, v := range r.Regs {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	for i, v := range [...]uint64{r.Sp, r.Pc, r.Pstate} {
		binary.LittleEndian.PutUint64(b[8*(31+i):], v)
	}
	procmem.DecodeRegsARM64(b[:], out)
	out.PACMask = pacMask(tid)
	return r.Regs[8], nil
}

var masked struct {
	tid  int
	mask uint64
}

func pacMask(tid int) uint64 {
	if masked.tid != tid {
		var r unix.PtraceRegsArm64
		masked.tid, masked.mask = tid, 0
		if unix.PtraceGetRegSetArm64(tid, ntPACMask, &r) == nil {
			masked.mask = r.Regs[1]
		}
	}
	return masked.mask
}

func skipTrap(tid int) error {
	var r unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(tid, ntPRStatus, &r); err != nil {
		return err
	}
	r.Pc += 4
	return unix.PtraceSetRegSetArm64(tid, ntPRStatus, &r)
}

// Registers of a mark's name and magic number.
const (
	markName  = 0
	markMagic = 1
)
