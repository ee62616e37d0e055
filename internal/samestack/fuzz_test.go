// SPDX-License-Identifier: Apache-2.0

package samestack

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// FuzzLearn holds that whatever lies on a stack, learning ends, and what is learned holds where it was learned.
func FuzzLearn(f *testing.F) {
	f.Add([]byte("a stack of which nothing is known, with words"), uint64(0x7f0000001000), uint64(0x400123))
	f.Add(make([]byte, 256), uint64(8), uint64(0))
	f.Add([]byte{}, ^uint64(0), ^uint64(0))
	space := frames.NewSpace(frames.X86_64)
	var l Learner
	f.Fuzz(func(t *testing.T, stack []byte, sp, pc uint64) {
		regs := frames.Regs{Arch: frames.X86_64, PC: pc}
		regs.Set(frames.X86_64.SP(), sp)
		call := procmem.SyscallInfo{SP: sp, PC: pc}
		region := frames.Region{Addr: sp, Bytes: stack}
		args := [6]uint8{frames.X86RDI, frames.X86RSI, frames.X86RDX, frames.NoReg, 8, 9}
		w := l.Learn(space, &regs, &args, &region, &call, nil)
		if w == nil {
			return
		}
		if !w.Hold(&call, &region) {
			t.Error("they do not hold")
		}
		if l.Learn(space, &regs, &args, &region, &call, w) != w {
			t.Error("learned anew, they are others")
		}
	})
}
