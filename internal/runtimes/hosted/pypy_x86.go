// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"bytes"

	"prywalk/frames"
)

// pypy knows the frames of the code that PyPy's compiler makes.
//
// Loops and bridges keep their values in an object of the heap. Of the machine's stack each takes a frame of a fixed
// size, which its entry makes. In that frame the entry notes where it is, and what it is: PyPy's own profiler (vmprof)
// walks by these notes. So a frame proves itself: a word at a certain place in it is its own address, and the next one
// says that it is compiled code's. Routines that compiled code calls have no frame but their return address.
//
// Source: PyPy's rpython/jit/backend/x86/arch.py (FRAME_FIXED_SIZE) and assembler.py (_call_header,
// _call_header_vmprof, _call_footer).
type pypy struct {
	oneFrame
	frame  *proof
	places map[uint64]pypyPlace // by program counters that were met
}

// pypySaved has where an entry keeps registers, below the CFA.
var pypySaved = map[uint8]int64{frames.X86RBP: 96, frames.X86RBX: 88, frames.X86R12: 80, frames.X86R13: 72,
	frames.X86R14: 64, frames.X86R15: 56}

var (
	// sub rsp, …; mov [rsp + 96], rbp
	pypyMakes = []byte{0x48, 0x81, 0xec, pypyFrame, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x60}
)

// pypyCalls is call r11.
var pypyCalls = [...]byte{0x41, 0xff, 0xd3}

// pypyKeeps are the instructions by which an entry keeps the other registers, in this order.
var pypyKeeps = [...]struct {
	code []byte
	reg  uint8
}{
	{[]byte{0x48, 0x89, 0x5c, 0x24, 0x68}, frames.X86RBX},
	{[]byte{0x4c, 0x89, 0x64, 0x24, 0x70}, frames.X86R12},
	{[]byte{0x4c, 0x89, 0x6c, 0x24, 0x78}, frames.X86R13},
	{[]byte{0x4c, 0x89, 0xb4, 0x24, 0x80, 0, 0, 0}, frames.X86R14},
	{[]byte{0x4c, 0x89, 0xbc, 0x24, 0x88, 0, 0, 0}, frames.X86R15},
}

// What lies in a frame, from its stack pointer on.
const (
	pypyFrame = 184 // the return address is behind so many bytes
	pypySelf  = 160 // the note: the stack pointer, …
	pypyKind  = 168 // … and what the frame is: compiled code
	pypyJIT   = 3   // VMPROF_JITTED_TAG
)

const (
	pypyWords   = 32      // how many words there are at most between the stack pointer and a frame
	pypyEntry   = 128     // how long an entry is at most, up to where it has kept all registers
	pypyRoutine = 2 << 10 // how long a routine is at most
	pypyLoad    = 128     // how far before a call its target is loaded at most
	pypyPlaces  = 1 << 12 // bounds what is remembered
)

// pypyStage says how far an entry or an exit has come.
type pypyStage uint8

const (
	pypyBody  pypyStage = iota // the frame is whole, or that of a routine's caller is
	pypyTop                    // the return address is on top of the stack
	pypyEnter                  // the frame is there, but not all that lies in it
)

// pypyPlace is what instructions tell of a program counter.
type pypyPlace struct {
	stage pypyStage
	kept  uint32 // the registers that an entry has kept by then, while it is pypyEnter
}

func newPyPy(p *process) Runtime {
	y := &pypy{oneFrame: oneFrame{p}, places: map[uint64]pypyPlace{}}
	y.frame = newProof(nil)
	for reg := range pypySaved {
		y.frame.row.Regs[reg] = frames.RegRule{Kind: frames.RuleValExpr, Expr: pypyReg{y, reg}}
	}
	y.frame.prove = y.prove
	return y
}

// Update implements [Runtime].
func (y *pypy) Update(mods []*frames.Module) {
	y.oneFrame.Update(mods)
	clear(y.places)
}

// First implements [Runtime].
func (y *pypy) First() frames.RuleSource {
	return ruleFunc(func(frames.Query) (frames.Rule, *frames.Row, bool) { return y.frame.rule() })
}

// place reads the instructions around a program counter.
func (y *pypy) place(pc uint64) pypyPlace {
	if at, ok := y.places[pc]; ok {
		return at
	}
	if len(y.places) >= pypyPlaces {
		clear(y.places)
	}
	at := y.readPlace(pc)
	y.places[pc] = at
	return at
}

// readPlace is place without what is remembered.
func (y *pypy) readPlace(pc uint64) pypyPlace {
	m := y.find(pc)
	if m == nil {
		return pypyPlace{}
	}
	var b [pypyEntry + 16]byte
	before := int(min(pc-m.Start, pypyEntry))
	code := b[:y.o.Read(pc-uint64(before), b[:before+len(pypyMakes)])]
	if len(code) <= before {
		return pypyPlace{}
	}
	if code[before] == 0xc3 || bytes.HasPrefix(code[before:], pypyMakes) {
		return pypyPlace{stage: pypyTop}
	}
	entry := bytes.LastIndex(code[:min(before+len(pypyMakes)-1, len(code))], pypyMakes)
	if entry < 0 {
		return pypyPlace{}
	}
	done, place := code[entry:before], pypyPlace{stage: pypyEnter}
	if len(done) >= len(pypyMakes) {
		place.kept = 1 << frames.X86RBP
	}
	for _, k := range &pypyKeeps {
		i := bytes.Index(done, k.code)
		if i < 0 {
			return place
		}
		done, place.kept = done[i+len(k.code):], place.kept|1<<k.reg
	}
	return pypyPlace{}
}

// isFrame reports whether the frame of an entry begins at an address.
func isFrame(mem frames.Memory, at uint64) (ok bool, unread uint64) {
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

// prove gives the CFA; the return address below it must follow a call.
func (y *pypy) prove(regs *frames.Regs, mem frames.Memory, _ uint64) (cfa, unread uint64, ok bool) {
	sp, known := regs.Get(frames.X86RSP)
	if !known {
		return 0, 0, false
	}
	switch y.place(regs.PC).stage {
	case pypyTop:
		cfa = sp + 8
	case pypyEnter:
		cfa = sp + pypyFrame + 8
	default:
		if cfa, unread, ok = y.ofBody(regs.PC, sp, mem); !ok {
			return 0, unread, false
		}
	}
	ret, readable := mem.Word(cfa - 8)
	if !readable {
		return 0, cfa - 8, false
	}
	return cfa, 0, y.follows(ret)
}

// ofBody gives the CFA of code that is behind its entry, or of a routine that such code has called.
func (y *pypy) ofBody(pc, sp uint64, mem frames.Memory) (cfa, unread uint64, ok bool) {
	called := false // a word so far is a return address, or was one
	for at, last := sp, uint64(0); at <= sp+8*pypyWords; at += 8 {
		found, lacks := isFrame(mem, at)
		switch {
		case lacks != 0:
			return 0, lacks, false
		case found && at > sp && y.calledFrom(last, pc, at-8-sp):
			return at, 0, true
		case found:
			return at + pypyFrame + 8, 0, !called // else others may lie between
		}
		if last, ok = mem.Word(at); !ok {
			return 0, at, false
		}
		called = called || y.follows(last)
	}
	return 0, 0, false
}

// calledFrom reports whether an address follows a call, by compiled code, of a routine that pc is in. Mostly the call
// is by r11, and what that holds is told by code elsewhere. Such a call is believed of a routine that has pushed at
// most one word: compiled code itself makes more room at once.
func (y *pypy) calledFrom(ret, pc, pushed uint64) bool {
	m := y.find(ret - 1)
	if m == nil || !m.Generated || m.Calls == nil {
		return false
	}
	call, ok := m.Calls.CallBefore(ret - m.Bias)
	if !ok || call.Direct {
		return ok && pc-(call.Target+m.Bias) < pypyRoutine
	}
	var b [len(pypyCalls)]byte
	return pushed <= 8 && y.o.Read(ret-uint64(len(b)), b[:]) == len(b) && b == pypyCalls
}

// pypyReg gives the caller's value of a register.
type pypyReg struct {
	y   *pypy
	reg uint8
}

// Eval implements [frames.Expr].
func (r pypyReg) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	sp, _ := regs.Get(frames.X86RSP)
	begin, place := cfa-8-pypyFrame, r.y.place(regs.PC)
	whole := place.stage == pypyBody && begin >= sp && begin < cfa
	if whole {
		whole, _ = isFrame(mem, begin)
	}
	if whole || place.kept>>r.reg&1 != 0 {
		return mem.Word(cfa - uint64(pypySaved[r.reg]))
	}
	return regs.Get(r.reg)
}
