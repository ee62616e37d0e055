// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// pypy finds the frames of PyPy's JIT code. Loops and bridges have a frame of fixed size with its own address and kind,
// for vmprof. Routines that they call have only a return address.
//
// Source: rpython/jit/backend/x86/arch.py (FRAME_FIXED_SIZE) and assembler.py (_call_header, _call_header_vmprof,
// _call_footer).
type pypy struct {
	process *process
	frame   *managed.VerifiedRule
	stages  map[uint64]pypyStage // by pc
}

// pypySaved has the places of saved registers, in bytes below the CFA.
var pypySaved = map[uint8]int64{frames.X86RBP: 96, frames.X86RBX: 88, frames.X86R12: 80, frames.X86R13: 72,
	frames.X86R14: 64, frames.X86R15: 56}

// sub rsp, …; mov [rsp + 96], rbp
var pypyPrologue = []byte{0x48, 0x81, 0xec, pypyFrame, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x60}

var pypyCallR11 = [...]byte{0x41, 0xff, 0xd3}

// From sp.
const (
	pypyFrame = 184 // return address
	pypySelf  = 160 // the frame's own address
	pypyKind  = 168
	pypyJIT   = 3 // VMPROF_JITTED_TAG
)

const (
	maxPyPyWords  = 32      // searched below a frame
	pypyEntry     = 64      // bytes that at most the saving of registers takes
	pypyRoutine   = 2 << 10 // bytes
	maxPyPyStages = 1 << 12
)

type pypyStage uint8

const (
	pypyBody  pypyStage = iota
	pypyTop             // return address at sp
	pypyEnter           // the frame is incomplete: no rule
)

func findPyPy(r *Runtime) bool {
	y := &pypy{process: &r.process}
	y.frame = managed.NewVerifiedRule(y.prove, nil)
	for reg := range pypySaved {
		y.frame.Row.Regs[reg] = frames.RegRule{Kind: frames.RuleValExpr, Expr: pypyReg{y, reg}}
	}
	r.Early, r.forget = y.frame, func() { clear(y.stages) }
	return true
}

func (p *pypy) stageAt(pc uint64) pypyStage {
	stage, known := p.stages[pc]
	if !known {
		stage = p.readStage(pc)
		cache.Put(&p.stages, maxPyPyStages, pc, stage)
	}
	return stage
}

func (p *pypy) readStage(pc uint64) pypyStage {
	m := p.process.moduleAt(pc)
	if m == nil {
		return pypyBody
	}
	var b [pypyEntry + 16]byte
	before := int(min(pc-m.Start, pypyEntry))
	code := b[:p.process.host.Read(pc-uint64(before), b[:before+len(pypyPrologue)])]
	switch {
	case len(code) <= before:
		return pypyBody
	case code[before] == 0xc3 || bytes.HasPrefix(code[before:], pypyPrologue):
		return pypyTop
	case bytes.Contains(code[:min(before+len(pypyPrologue)-1, len(code))], pypyPrologue):
		return pypyEnter
	}
	return pypyBody
}

func isPyPyFrame(mem frames.Memory, at uint64) (ok bool, unread uint64) {
	self, readable := mem.Word(at + pypySelf)
	if !readable {
		return false, at + pypySelf
	}
	if self != at {
		return false, 0
	}
	kind, readable := mem.Word(at + pypyKind)
	if !readable {
		return false, at + pypyKind
	}
	return kind == pypyJIT, 0
}

func (p *pypy) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	switch p.stageAt(regs.PC) {
	case pypyTop:
		cfa = sp + 8
	case pypyEnter:
		return 0, 0, false
	default:
		if cfa, unread, ok = p.bodyCFA(regs.PC, sp, mem); !ok {
			return 0, unread, false
		}
	}
	ret, readable := mem.Word(cfa - 8)
	if !readable {
		return 0, cfa - 8, false
	}
	return cfa, 0, p.process.followsCall(ret)
}

// bodyCFA is for code after the entry, or in a routine called by compiled code.
func (p *pypy) bodyCFA(pc, sp uint64, mem frames.Memory) (cfa, unread uint64, ok bool) {
	called := false // a word is or was a return address
	for at, last := sp, uint64(0); at <= sp+8*maxPyPyWords; at += 8 {
		found, lacks := isPyPyFrame(mem, at)
		switch {
		case lacks != 0:
			return 0, lacks, false
		case found && at > sp && p.calledFrom(last, pc, at-8-sp):
			return at, 0, true
		case found:
			return at + pypyFrame + 8, 0, !called
		}
		if last, ok = mem.Word(at); !ok {
			return 0, at, false
		}
		called = called || p.process.followsCall(last)
	}
	return 0, 0, false
}

// calledFrom reports whether ret follows a compiled call of the routine at pc. A call by r11 counts with at most one
// word pushed: compiled code makes more room.
func (p *pypy) calledFrom(ret, pc, pushed uint64) bool {
	call, m, ok := p.process.callBefore(ret)
	if !ok || !m.Generated || call.Direct {
		return ok && m.Generated && pc-call.Target < pypyRoutine
	}
	var b [len(pypyCallR11)]byte
	return pushed <= 8 && p.process.host.Read(ret-uint64(len(b)), b[:]) == len(b) && b == pypyCallR11
}

type pypyReg struct {
	y   *pypy
	reg uint8
}

// Eval implements [frames.Expr].
func (r pypyReg) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	sp, _ := regs.Get(frames.X86RSP)
	if begin := cfa - 8 - pypyFrame; r.y.stageAt(regs.PC) == pypyBody && begin >= sp && begin < cfa {
		if whole, _ := isPyPyFrame(mem, begin); whole {
			return mem.Word(cfa - uint64(pypySaved[r.reg]))
		}
	}
	return regs.Get(r.reg)
}
