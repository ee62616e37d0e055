// SPDX-License-Identifier: Apache-2.0

package hosted

import "prywalk/frames"

// chez knows the frame of Chez Scheme's code.
//
// Scheme has a stack of its own. Its code leaves the machine's stack pointer where the entry has put it, but for the
// few words that calls of C and of the runtime's own routines push. The entry is jumped to by S_generic_invoke, which
// the kernel calls with setjmp's registers kept elsewhere: so the caller's registers are lost, and it needs none.
//
// Source: Chez Scheme's c/schsig.c and c/scheme.c (S_call_help, S_generic_invoke).
type chez struct {
	oneFrame
	invoke uint64 // S_generic_invoke
	frame  *proof
}

// chezWords is how many words there are at most between the stack pointer and the return address.
const chezWords = 32

func newChez(p *process) Runtime {
	c := &chez{oneFrame: oneFrame{p}, invoke: p.o.Entry}
	if c.invoke == 0 {
		return nil
	}
	c.frame = newProof(nil)
	c.frame.loses()
	c.frame.prove = c.prove
	return c
}

// First implements [Runtime].
func (c *chez) First() frames.RuleSource {
	return ruleFunc(func(frames.Query) (frames.Rule, *frames.Row, bool) { return c.frame.rule() })
}

// prove finds the one word that follows a call of the entry.
func (c *chez) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	return c.oneCall(mem, sp, chezWords, c.invoke)
}
