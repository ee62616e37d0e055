// SPDX-License-Identifier: Apache-2.0

package fixedframe

import "prywalk/frames"

// chez finds the frame of Chez Scheme's code, to whose entry S_generic_invoke jumps. The code keeps the entry's sp,
// apart from pushed words. The caller's registers are lost (setjmp).
//
// Source: c/schsig.c and c/scheme.c (S_call_help, S_generic_invoke).
type chez struct{ *process }

// below the return address
const maxChezWords = 32

func newChez(p *process) *FrameRules {
	if p.entry == 0 {
		return nil
	}
	return &FrameRules{Early: newFrame(chez{p}.prove)}
}

func (c chez) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	return c.oneCall(mem, sp, maxChezWords, c.entry)
}
