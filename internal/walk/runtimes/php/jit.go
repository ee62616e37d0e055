// SPDX-License-Identifier: Apache-2.0

package php

import (
	"bytes"
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// jitCode is JIT code. execute_ex jumps to it and back (ZEND_VM_KIND_HYBRID, Zend/zend_vm_opcodes.h): its frame is that
// of execute_ex, perhaps with room for arguments below.
type jitCode struct {
	spans     []managed.Span
	runtime   *Runtime
	frame     frames.Rule
	row       *frames.Row
	proof     *managed.VerifiedRule // x86-64
	frameSize uint64                // bytes, with the return address
	known     bool
}

const maxArguments = 8 // words

func (r *Runtime) adoptCode(h managed.Host) {
	c := &r.jit
	c.spans, c.runtime = c.spans[:0], r
	for _, m := range h.Modules() {
		if !m.Generated || m.Owner != nil && m.Owner != r || isPrivateMemory(m) {
			continue
		}
		if !c.known {
			c.learnFrame(h.Arch())
		}
		c.spans = append(c.spans, managed.Span{Start: m.Start, End: m.End}) // for names, which need no rule
		if c.known {
			managed.AddSource(m, c)
			m.Owner, m.NoFP = r, true
		}
	}
}

// isPrivateMemory reports memory such as PCRE's: opcache's is shared and has a name, /dev/zero (deleted) or a file's
// (ext/opcache/zend_shared_alloc.c).
func isPrivateMemory(m *frames.Module) bool {
	if m.Origin == nil {
		return false
	}
	file, _ := m.Origin.FileOffset()
	return file == ""
}

func (c *jitCode) learnFrame(arch frames.Arch) {
	r := c.runtime
	q := frames.Query{PC: (r.executeEx.Start+r.executeEx.End)/2 - r.module.Bias}
	for _, s := range r.module.Sources {
		if rule, row, ok := s.Rule(q); ok {
			c.frame, c.row, c.known = rule, row, rule.Method == frames.MethodCFI
			break
		}
	}
	if !c.known || arch != frames.X86_64 {
		return
	}
	if c.known = c.row == nil && c.frame.Flags == 0 && c.findFrameSize(); !c.known {
		return
	}
	saved := map[uint8]int64{}
	for i, reg := range frames.X86_64.CompactRegs() {
		if n := c.frame.Saved[i]; n != 0 {
			saved[reg] = 8 * int64(n)
		}
	}
	c.proof = managed.NewVerifiedRule(c.find, saved)
}

var subRSPImm32, subRSPImm8 = []byte{0x48, 0x81, 0xec}, []byte{0x48, 0x83, 0xec}

const maxPrologue = 64 // bytes

// findFrameSize finds the distance from sp to the CFA in execute_ex. JIT code uses the frame pointer otherwise: with
// that CFA register it is the prologue's saved registers and sub rsp.
func (c *jitCode) findFrameSize() bool {
	switch c.frame.CFAReg {
	case frames.X86RSP:
		c.frameSize = uint64(int64(c.frame.CFAOff))
		return true
	case frames.X86RBP:
	default:
		return false
	}
	var b [maxPrologue]byte
	n := c.runtime.host.Read(c.runtime.executeEx.Start, b[:]) // in a core, too
	c.frameSize = 8
	for _, saved := range c.frame.Saved {
		if saved != 0 {
			c.frameSize += 8
		}
	}
	if i := bytes.Index(b[:n], subRSPImm32); i >= 0 && i+7 <= n {
		c.frameSize += uint64(binary.LittleEndian.Uint32(b[i+3:]))
		return c.frameSize < maxFrame
	}
	i := bytes.Index(b[:n], subRSPImm8)
	if i < 0 || i+4 > n {
		return false
	}
	c.frameSize += uint64(b[i+3])
	return true
}

const maxFrame = 64 << 10 // bytes

// Rule implements [frames.RuleSource].
func (c *jitCode) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if c.proof != nil {
		return c.proof.Rule(q)
	}
	return c.frame, c.row, true
}

// find is a [managed.FindFrame]: the return address follows a call in PHP's own code.
func (c *jitCode) find(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	m := c.runtime.module
	for i := range uint64(maxArguments) {
		cfa = regs.SP() + c.frameSize + 8*i
		ret, readable := mem.Word(cfa - 8)
		if !readable {
			return 0, cfa - 8, false
		}
		if ret < m.Start || ret >= m.End || m.Calls == nil {
			continue
		}
		if _, ok := m.Calls.CallBefore(ret - m.Bias); ok {
			return cfa, 0, true
		}
	}
	return 0, 0, false
}

func (c *jitCode) has(pc uint64) bool {
	return slices.ContainsFunc(c.spans, func(s managed.Span) bool { return s.Has(pc) })
}
