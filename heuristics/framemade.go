// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # Code that makes a frame
//
// Bounds in instructions: before the call, and of the callee.
const (
	maxBeforeCall = 8
	maxCallee     = 24
)

// calleeMakesFrame recognises V8's baseline code before its first call. The called builtin pops its own return address
// and makes the caller's frame.
func (p *patterns) calleeMakesFrame(pc uint64) (f finding, ok bool) {
	abi, st := p.abi, &p.st
	if abi.ra != noReg {
		return f, false // a callee's return address is in the link register
	}
	p.begin(pc, everywhere)
	for range maxBeforeCall {
		call := p.step()
		if !call.fallsThrough() || !st.regs[abi.sp].isStartValue(abi.sp) {
			return f, false
		}
		if call.kind != flowCall {
			continue
		}
		if call.target == 0 || !p.makesCallersFrame(call.target) {
			return f, false
		}
		f.cfa = abi.cfaAtEntry()
		for i, reg := range abi.calleeSaved {
			if reg != abi.fp {
				f.calleeSaved[i] = lost
			}
		}
		return f, true
	}
	return f, false
}

func (p *patterns) makesCallersFrame(pc uint64) bool {
	abi, st := p.abi, &p.st
	st.push(abi.sp, value{})
	st.pc = pc
	for range maxCallee {
		if f := p.step(); !f.fallsThrough() || f.kind == flowCall {
			return false
		}
		if fp := st.regs[abi.fp]; fp.isRelativeTo(abi.sp) {
			return fp == st.regs[abi.sp] && abi.isFrameAt(st, fp)
		}
	}
	return false
}

// push rbp
const opPushBP = 0x55

// voteFrameMade votes where JIT code has made its frame. Other code may save rbp earlier, so innermost frames count.
func (e *epilogueSearch) voteFrameMade() bool {
	abi, st := e.in.abi, &e.in.st
	if !e.in.src.opt.JIT || !e.innermost || abi.ra != noReg {
		return false
	}
	fp := st.regs[abi.fp]
	if !fp.isRelativeTo(abi.sp) || fp != st.regs[abi.sp] {
		return false
	}
	f := finding{cfa: fp.plus(16)}
	for i := range f.calleeSaved {
		f.calleeSaved[i] = lost
	}
	switch {
	case st.load(fp).isStartValue(abi.fp):
		f.calleeSaved[0] = frames.RegRule{}
	case e.in.steps == 1 && e.in.isBehind(opPushBP, e.start):
		f.calleeSaved[0] = inMemory(abi.sp, fp.off)
	default:
		return false
	}
	e.votes.add(&f, false)
	return true
}

func (in *interpreter) isBehind(op byte, pc uint64) bool {
	if pc == 0 {
		return false
	}
	b := in.code(pc - 1)
	return len(b) > 0 && b[0] == op
}
