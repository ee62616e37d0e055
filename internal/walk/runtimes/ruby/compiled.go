// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// yjitCode runs in one native frame (yjit/src/codegen.rs, gen_entry_prologue).
type yjitCode struct {
	spans       []managed.Span
	interpreter *frames.Module
	rule        *managed.VerifiedRule
}

var yjitSaved = map[uint8]int64{frames.X86R13: 16, frames.X86R12: 24, frames.X86RBX: 32}

func (c *yjitCode) adopt(h managed.Host, r *Runtime, interpreter *frames.Module) {
	c.spans, c.interpreter = c.spans[:0], interpreter
	if c.rule == nil {
		c.rule = managed.NewVerifiedRule(c.find, yjitSaved)
	}
	if interpreter.Calls == nil {
		return
	}
	for _, m := range managed.Unowned(h) {
		if !c.mayContain(m) {
			continue
		}
		managed.AddSource(m, c.rule)
		m.Owner, m.NoFP = r, true
	}
	for _, m := range h.Modules() {
		if m.Owner == r {
			c.spans = append(c.spans, managed.Span{Start: m.Start, End: m.End})
		}
	}
}

const maxDistance = 1 << 31 // bytes

// mayContain accepts YJIT's region: anonymous, or named since Ruby 3.4 (rb_yjit_reserve_addr_space, yjit.c; in 4.0
// rb_jit_reserve_addr_space, jit.c).
func (c *yjitCode) mayContain(m *frames.Module) bool {
	if m.Origin != nil {
		if name, _ := m.Origin.FileOffset(); name != "" {
			return strings.HasPrefix(name, "[anon:Ruby:rb_yjit_reserve_addr_space") ||
				strings.HasPrefix(name, "[anon:Ruby:rb_jit_reserve_addr_space")
		}
	}
	return m.Start < c.interpreter.End+maxDistance && m.End+maxDistance > c.interpreter.Start
}

func (c *yjitCode) has(addr uint64) bool {
	return slices.ContainsFunc(c.spans, func(s managed.Span) bool { return s.Has(addr) })
}

const maxPushed = 24 // words

// find is a [managed.FindFrame]: up to the return address of an indirect call of the interpreter.
func (c *yjitCode) find(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	for i := range uint64(maxPushed) {
		at := regs.SP() + 8*i
		ret, readable := mem.Word(at)
		if !readable {
			return 0, at, false
		}
		if ret < c.interpreter.Start || ret >= c.interpreter.End {
			continue
		}
		if call, ok := c.interpreter.Calls.CallBefore(ret - c.interpreter.Bias); ok && !call.Direct {
			return at + 8, 0, true
		}
	}
	return 0, 0, false
}
