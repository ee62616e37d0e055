// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// guile finds the frame of Guile's compiled procedures (3.0 on): that of a trampoline, which the library calls by a
// pointer in its data.
//
// Source: libguile/jit.c (emit_entry_trampoline, scm_jit_enter_mcode).
type guile struct {
	*process
	frame *managed.VerifiedRule
	jumps *trampoline
	calls map[uint64]uint64 // target by return address
}

const maxCalls = 1 << 12

func newGuile(p *process) *FrameRules {
	g := &guile{process: p, calls: map[uint64]uint64{}}
	g.frame = managed.NewVerifiedRule(g.prove, nil)
	return &FrameRules{Early: ruleFunc(g.rule), forget: func() { clear(g.calls) }}
}

func (g *guile) rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if pc := q.LookupPC(g.Arch()); g.jumps != nil && pc >= g.jumps.start && pc < g.jumps.end {
		return frames.Rule{}, nil, false
	}
	return g.frame.Rule(q)
}

func (g *guile) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known || g.jumps == nil && !g.learn(sp, mem) {
		return 0, 0, false
	}
	cfa = sp + uint64(g.jumps.size)
	ret, readable := mem.Word(cfa - 8)
	if !readable {
		return 0, cfa - 8, false
	}
	return cfa, 0, g.target(ret) == g.jumps.start
}

func (g *guile) learn(sp uint64, mem frames.Memory) bool {
	for at := sp; at < sp+8*maxFrameWords; at += 8 {
		ret, readable := mem.Word(at)
		if !readable {
			return false
		}
		start := g.target(ret)
		if start == 0 {
			continue
		}
		if t := g.readTrampoline(start); t != nil && sp+uint64(t.size) == at+8 {
			g.jumps = t
			g.frame.Save(t.saved)
			return true
		}
	}
	return false
}

func (g *guile) target(ret uint64) uint64 {
	if t, ok := g.calls[ret]; ok {
		return t
	}
	if len(g.calls) >= maxCalls {
		clear(g.calls)
	}
	t := g.findTarget(ret)
	g.calls[ret] = t
	return t
}

// findTarget returns the generated code called before ret by a pointer in the library's data: FF /2, rip-relative
// (Intel SDM volume 2, CALL); 0: none.
func (g *guile) findTarget(ret uint64) uint64 {
	var b [6]byte
	if ret-g.lib.Start >= g.lib.End-g.lib.Start || g.Read(ret-6, b[:]) < len(b) || b[0] != 0xff || b[1] != 0x15 {
		return 0
	}
	var word [8]byte
	if g.Read(ret+uint64(int64(int32(binary.LittleEndian.Uint32(b[2:])))), word[:]) < len(word) {
		return 0
	}
	to := binary.LittleEndian.Uint64(word[:])
	if !g.isGenerated(to) {
		return 0
	}
	return to
}
