// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// yjitCode is the rule source of YJIT's code: all of it runs in one native frame (yjit/src/codegen.rs,
// gen_entry_prologue), and calls among Ruby functions have control frames only.
//
//	CFA-8   return address, into the interpreter
//	CFA-16  its cfp (r13)
//	CFA-24  its ec (r12)
//	CFA-32  its sp (rbx)
//	…       a trampoline's, while it calls the compiler
type yjitCode struct {
	spans       []span
	calls       frames.CallSites
	interpreter *frames.Module
	row         frames.Row
}

// adopt makes r the owner of YJIT's code.
func (c *yjitCode) adopt(h managed.Host, r *Runtime, interpreter *frames.Module) {
	c.spans, c.interpreter, c.calls = c.spans[:0], interpreter, interpreter.Calls
	c.row = frames.Row{CFAExpr: c, RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
	for i, reg := range [...]uint8{frames.X86R13, frames.X86R12, frames.X86RBX} {
		c.row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -16 - 8*int64(i)}
	}
	if c.calls == nil {
		return
	}
	for _, m := range managed.Unowned(h) {
		if !c.mayContain(m) {
			continue
		}
		managed.AddSource(m, c)
		m.Owner, m.NoFP = r, true
	}
	for _, m := range h.Modules() {
		if m.Owner == r {
			c.spans = append(c.spans, span{m.Start, m.End})
		}
	}
}

// maxDistance of YJIT's region from the interpreter's code, bytes: calls have 32-bit displacements.
const maxDistance = 1 << 31

// mayContain reports whether a module may be in YJIT's region (rb_yjit_reserve_addr_space, yjit.c). It is anonymous;
// Ruby 3.4 names it, if the kernel keeps such names.
func (c *yjitCode) mayContain(m *frames.Module) bool {
	if m.Origin != nil {
		if name, _ := m.Origin.Place(); name != "" {
			return strings.HasPrefix(name, "[anon:Ruby:rb_yjit")
		}
	}
	return m.Start < c.interpreter.End+maxDistance && m.End+maxDistance > c.interpreter.Start
}

func (c *yjitCode) has(addr uint64) bool {
	for _, s := range c.spans {
		if s.has(addr) {
			return true
		}
	}
	return false
}

// Rule implements [frames.RuleSource].
func (c *yjitCode) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodHeuristic}, &c.row, true
}

// Eval implements [frames.Expr].
func (c *yjitCode) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := c.Prove(regs, mem, regs.PC)
	return cfa, ok
}

// maxPushed bounds words below the return address: three, the argument registers, alignment.
const maxPushed = 24

// Prove implements [frames.Prover]: the frame ends at the innermost return address of an indirect call of the
// interpreter.
func (c *yjitCode) Prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	for i := range uint64(maxPushed) {
		at := regs.SP() + 8*i
		ret, readable := mem.Word(at)
		if !readable {
			return 0, at, false
		}
		if ret < c.interpreter.Start || ret >= c.interpreter.End {
			continue
		}
		if call, ok := c.calls.CallBefore(ret - c.interpreter.Bias); ok && !call.Direct {
			return at + 8, 0, true
		}
	}
	return 0, 0, false
}
