// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// chez finds the frame of Chez Scheme's code, to whose entry S_generic_invoke jumps. The code keeps the entry's sp,
// apart from pushed words. The caller's registers are lost (setjmp).
//
// Source: c/schsig.c and c/scheme.c (S_call_help, S_generic_invoke).
type chez struct {
	base
	invoke uint64
	frame  *managed.VerifiedRule
}

// chezWords bounds the words below the return address.
const chezWords = 32

func newChez(p *process) FrameRules {
	c := &chez{base: base{p}, invoke: p.o.Entry}
	if c.invoke == 0 {
		return nil
	}
	c.frame = newFrame(c.prove)
	return c
}

// EarlyRules implements [FrameRules].
func (c *chez) EarlyRules() frames.RuleSource {
	return c.frame
}

func (c *chez) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	return c.oneCall(mem, sp, chezWords, c.invoke)
}
