// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # Code of V8
//
// V8 is the JavaScript engine of Node and Chromium. Its code differs from that of other compilers in three ways.
// Handlers of byte codes are never returned from, baseline code lets a builtin make its frame, and functions take
// their arguments off the stack as they return (argumentDropX86).

// An interpreter of byte code may have a piece of machine code for each instruction, with a symbol like a
// function's: V8's handlers. Such a handler takes registers from the one before it that the ABI gives to callers
// only, and is never returned from. It ends in a jump by a register to the next one, with stack and frame pointer
// as they were at its start. The word on top of the stack then is the return address into the interpreter's entry.
// The frame pointer is that of the frame which the entry has made, for the function that is interpreted. To believe
// the frame pointer there would leave that function out.

// handler is for code that reads registers of its caller and never returns, with what the paths to q say in p and
// g, nil if that is nothing. That is a handler's frame if it is one, else the code is a part that was split off a
// function of which nothing is known.
func (s *Source) handler(w *interpreter, q frames.Query, p *prologue, g *found) (found, bool) {
	lo, hi, ok := s.bounds(q.Lookup(s.o.Arch))
	if !ok {
		return found{}, false
	}
	m := w.manner(lo, hi)
	if !m.odd || !m.begins && !(m.dispatches && !m.switches) {
		return found{}, false
	}
	// What V8's functions call may take its arguments off the stack: then only the frame
	// pointer is sure.
	if g != nil && !p.weak && (!p.st.left || g.cfa.base == s.abi.fp) {
		return *g, true
	}
	if q.Caller {
		return found{}, false
	}
	return s.toDispatch(w, q, lo, hi, dispatchAny)
}

// boundless is handler for code of which the bounds are not known, as V8's builtins in a program
// without symbols. Then only a jump to an address out of a table counts that is found by a register which callers
// expect back: that register is part of the handlers' convention.
func (s *Source) boundless(w *interpreter, q frames.Query) (found, bool) {
	if q.Caller || s.abi.loadsTable == nil {
		return found{}, false
	}
	return s.toDispatch(w, q, 0, ^uint64(0), dispatchByTable)
}

// toDispatch gives the frame that the paths to the next handler show.
func (s *Source) toDispatch(w *interpreter, q frames.Query, lo, hi uint64, d dispatch) (found, bool) {
	v := w.forwardTo(q.PC, false, lo, hi, d)
	f, _ := v.winner()
	return s.forwardOnly(f, q)
}

// dispatch says which jumps by a register end a function on a walk forwards.
type dispatch uint8

const (
	dispatchNone dispatch = iota
	dispatchAny
	dispatchByTable // those by a register that was loaded from a table
)

// maxLoaded bounds the bytes between the load from the table and the jump.
const maxLoaded = 16

// loadedBefore gives the register that the instructions just before pc have loaded from a table.
func (w *interpreter) loadedBefore(pc uint64) uint8 {
	for back := uint64(1); back <= min(maxLoaded, pc); back++ {
		if reg := w.src.abi.loadsTable(w.code(pc - back)); reg != noReg && w.leadsTo(pc-back, pc) {
			return reg
		}
	}
	return noReg
}

// leadsTo reports whether the instructions from one address on lead straight to another. It begins a walk.
func (w *interpreter) leadsTo(from, pc uint64) bool {
	for w.begin(from, from, pc); w.st.pc < pc; {
		if !w.straight() || w.fl.kind != flowNext {
			return false
		}
	}
	return w.st.pc == pc
}

// watchDispatch takes note of what an instruction has to do with going to the next handler.
func (w *forwardAnalysis) watchDispatch(code []byte, f *flow) {
	if w.dispatch == dispatchByTable {
		if reg := w.src.abi.loadsTable(code); reg != noReg {
			w.st.table = reg
		}
	}
	if f.kind == flowIndirect {
		w.voteDispatch(code)
	}
}

// voteDispatch counts a jump to the next handler, if no call was made on the way there. code is the jump.
func (w *forwardAnalysis) voteDispatch(code []byte) {
	if w.st.left || w.dispatch == dispatchByTable && !w.src.abi.jumpsBy(code, w.st.table) {
		return
	}
	fl := w.src.abi.tail(&w.st)
	if f, ok := w.src.atReturn(&w.st, &fl, true); ok {
		w.votes.add(&f, false)
	}
}

// What calleeMakesFrame reads: of the code that calls, and of what it calls.
const (
	maxBeforeCall = 8
	maxCallee     = 24
)

// calleeMakesFrame recognises the start of code that calls for its frame to be made. V8's baseline code begins with
// a call of a builtin that pops its own return address, and makes its caller's frame. Up to that call nothing lies
// on the stack but the return address; the frame pointer is still that of the caller.
func (w *interpreter) calleeMakesFrame(pc uint64) (f found, ok bool) {
	a, st := w.src.abi, &w.st
	if a.ra != noReg {
		return f, false // what is called has its return address in the link register
	}
	w.begin(pc, 0, ^uint64(0))
	for range maxBeforeCall {
		if !w.straight() || !st.regs[a.sp].isStart(a.sp) {
			return f, false
		}
		if w.fl.kind != flowCall {
			continue
		}
		if w.fl.target == 0 || !w.makesCallersFrame(st.pc+w.fl.target) {
			return f, false
		}
		f.cfa = start(a.sp).plus(a.entry)
		for i, reg := range a.kept {
			if reg != a.fp {
				f.kept[i] = savedReg{kind: lost}
			}
		}
		return f, true
	}
	return f, false
}

// makesCallersFrame reports whether the code at pc, called from w.st, makes a frame with the return address of its
// caller.
func (w *interpreter) makesCallersFrame(pc uint64) bool {
	a, st := w.src.abi, &w.st
	st.push(a.sp, value{})
	st.pc = pc
	for range maxCallee {
		if !w.straight() || w.fl.kind == flowCall {
			return false
		}
		if fp := st.regs[a.fp]; fp.kind == initial && fp.base == a.sp {
			return fp == st.regs[a.sp] && a.framesAt(st, fp)
		}
	}
	return false
}

// maxManner bounds the instructions that are read to tell how code behaves.
const maxManner = 400

// manner is how code behaves if it is taken as a function that is never returned from.
type manner struct {
	odd        bool // it does what functions do not
	begins     bool // it makes a frame at its very start
	dispatches bool // it jumps to where a register says, with the stack as at its start as far as is known
	switches   bool // it does so with a known other stack pointer, as in the midst of a function
}

// manner follows the code that begins at lo.
func (w *interpreter) manner(lo, hi uint64) (m manner) {
	w.begin(lo, lo, hi)
	a := prologueAnalysis{interpreter: w}
	for w.steps < maxManner {
		a.followManner(&m, lo, hi)
		if !w.pop() {
			break
		}
	}
	return m
}

// frameSteps is how many instructions it takes to make a frame.
const frameSteps = 2

// followManner follows w.st to its end.
func (w *prologueAnalysis) followManner(m *manner, lo, hi uint64) {
	st, a := &w.st, w.src.abi
	for w.steps < maxManner && st.pc >= lo && st.pc < hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.mark(st.pc) {
			return
		}
		w.steps++
		f := &w.fl
		a.step(st, code, f)
		st.pc += uint64(f.size)
		if f.kind == flowCall {
			st.called()
		}
		if f.kind == flowIndirect && !st.left {
			sp := st.regs[st.sp]
			moved := sp.kind == initial && sp.base >= firstAnon && !st.foreignSP() // by an unknown amount, and back perhaps
			m.dispatches = m.dispatches || moved || sp.isStart(st.sp)
			m.switches = m.switches || !moved && !sp.isStart(st.sp)
		}
		fp := st.regs[a.fp]
		m.begins = m.begins || w.steps <= frameSteps && fp.kind == initial && fp.base == a.sp && a.framesAt(st, fp)
		m.odd = m.odd || !w.src.o.JIT && (st.readKept || !st.aligned(int32(a.entry)))
		if !w.turn(f) {
			return
		}
	}
}
