// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/internal/x86"

// # The search for the epilogue of JIT code
//
// JIT code has no known bounds. The first path to a return mostly ends in the epilogue of a frame with a frame pointer,
// which proves the frame. Only writes to rbp, callee-saved registers and the words at rbp matter, so these alone are
// read, in the order of the forward analysis, with its result or none.
//
// Source: Intel SDM volume 2 (tables ).

// Bounds of a search: instructions, and jumps.
const (
	maxEpilogueSearch = 1000
	maxRuns           = 128 // V8's sort has 70
)

// epilogueSearch follows paths that leave rbp alone.
type epilogueSearch struct {
	w        *interpreter
	path     epiloguePath
	loads    [16]savedReg // from where callee-saved registers were loaded
	runs     [maxRuns]span
	nruns    int
	next     uint64 // lowest start of a run behind this one
	pending  [maxRuns]epiloguePath
	npending int
	noReturn symbolicState // only path fields such as afterCall are used
}

type epiloguePath struct {
	pc      uint64
	changed uint32 // callee-saved registers written
	stores  bool   // the words at rbp were written
}

// findEpilogueX86 returns the frame that the first return proves; false if it proves none.
func (w *interpreter) findEpilogueX86(pc uint64, caller bool) (f finding, ok bool) {
	p := epilogueSearch{w: w, path: epiloguePath{pc: pc}}
	p.noReturn.afterCall = caller
	p.run(pc)
	var i x86.Inst
	for range maxEpilogueSearch {
		if p.path.pc >= p.next {
			if !p.resume() { // it was read before
				return f, false
			}
			continue
		}
		if !x86.DecodeInto(w.code(p.path.pc), &i) {
			return f, false
		}
		p.path.pc += uint64(i.Size)
		if p.noteNoReturn(&i); p.noReturn.weak {
			return f, false
		}
		switch p.step(&i) {
		case stepReturns:
			return p.followToReturn()
		case stepFails:
			return f, false
		case stepEndsPath:
			if !p.resume() {
				return f, false
			}
		}
	}
	return f, false
}

type epilogueStep uint8

const (
	stepContinues epilogueStep = iota
	stepEndsPath               // the path ends, and proves nothing
	stepReturns                // the epilogue begins
	stepFails                  // the forward analysis must decide
)

func continueIf(ok bool) epilogueStep {
	if ok {
		return stepContinues
	}
	return stepFails
}

// run begins a run of instructions; false if it was read before, or there are too many.
func (p *epilogueSearch) run(pc uint64) bool {
	if p.nruns > 0 && p.runs[p.nruns-1].hi == 0 {
		p.runs[p.nruns-1].hi = p.path.pc
	}
	if p.nruns == maxRuns {
		return false
	}
	p.next = ^uint64(0)
	for _, r := range p.runs[:p.nruns] {
		if pc >= r.lo && pc < r.hi {
			return false
		}
		if r.lo > pc {
			p.next = min(p.next, r.lo)
		}
	}
	p.runs[p.nruns] = span{lo: pc}
	p.nruns++
	p.path.pc = pc
	p.noReturn.afterCall, p.noReturn.padded = false, false
	return true
}

func (p *epilogueSearch) resume() bool {
	for p.npending > 0 {
		p.npending--
		to := p.pending[p.npending]
		from := p.path
		p.path.changed, p.path.stores = to.changed, to.stores
		if p.run(to.pc) {
			for reg := range p.loads {
				p.loads[reg] = savedReg{kind: lost}
			}
			return true
		}
		p.path.pc = from.pc
	}
	return false
}

func (p *epilogueSearch) postpone(to uint64) epilogueStep {
	if p.npending == len(p.pending) {
		return stepFails
	}
	p.pending[p.npending] = epiloguePath{to, p.path.changed, p.path.stores}
	p.npending++
	return stepContinues
}

func (p *epilogueSearch) noteNoReturn(i *x86.Inst) {
	if !p.noReturn.afterCall {
		return
	}
	f := flow{
		padding: i.Map == x86.MapOne && i.Op == 0x90 && !i.REXBit() && i.Prefix&x86.PrefixF3 == 0 ||
			i.Map == x86.Map0F && (i.Op == 0x1f || i.Op == 0x0d),
		landing: i.Map == x86.Map0F && i.Op == 0x1e && i.Prefix&x86.PrefixF3 != 0 && i.Mod == 3 && i.RM == 2 && i.Reg == 7,
	}
	if i.VEX {
		f = flow{}
	}
	// as in followPath, pc is that of the instruction
	p.noReturn.pc = p.path.pc - uint64(i.Size)
	p.noReturn.noteNoReturn(&f)
}

func (p *epilogueSearch) step(i *x86.Inst) epilogueStep {
	if i.HasRM && i.Mod != 3 && i.Base == hwBP && i.Disp > -8 && i.Disp < 16 && i.Index == noReg && i.Op != 0x8d {
		return stepFails // it writes the words at rbp
	}
	switch {
	case i.VEX && i.Map == x86.MapAPX:
		return stepFails
	case i.VEX:
		return continueIf(p.noteWrite(writtenByVEX(i)))
	case i.Map == x86.MapOne:
		return p.stepOneByte(i)
	case i.Map == x86.Map0F:
		switch op := i.Op; {
		case op >= 0x80 && op < 0x90: // jcc
			return p.postpone(p.path.pc + uint64(i.Imm))
		case op == 0x0b || op == 0xb9 || op == 0xff || op == 0x07 || op == 0x35: // ud2, ud1, ud0, sysret, sysexit
			return stepEndsPath
		}
	}
	return continueIf(p.noteWrite(writtenByOtherMaps(i)))
}

func (p *epilogueSearch) noteWrite(mask uint32) bool {
	p.path.changed |= mask
	if mask&(1<<hwBX|0xf<<12) != 0 {
		for _, reg := range p.w.src.abi.calleeSaved {
			if mask&(1<<reg) != 0 {
				p.loads[reg] = savedReg{kind: lost}
			}
		}
	}
	return mask&(1<<hwBP) == 0
}

func (p *epilogueSearch) stepOneByte(i *x86.Inst) epilogueStep {
	switch op := i.Op; {
	case op == 0x89 && i.Mod == 3 && i.W && i.RM == hwSP && i.Reg == hwBP, op == 0x8b && i.Mod == 3 && i.W &&
		i.Reg == hwSP && i.RM == hwBP:
		if !p.isPop() { // mov rsp, rbp; pop rbp
			return stepFails
		}
		return stepReturns
	case op == 0xc9 && i.Prefix&x86.Prefix66 == 0: // leave
		return stepReturns
	case op == 0x89 || op == 0x8b || op == 0x8d || op == 0xc7 || op >= 0xb8 && op < 0xc0: // mov, lea
		return continueIf(p.stepMove(i))
	case op >= 0x50 && op < 0x58: // push
		p.path.stores = true
		return continueIf(i.Low() != hwBP)
	case op >= 0x58 && op < 0x60: // pop
		return continueIf(p.noteWrite(bit(i.Low())))
	case op == 0x8f: // pop r/m
		return continueIf(i.Mod != 3 || p.noteWrite(bit(i.RM)))
	case op >= 0x70 && op < 0x80, op >= 0xe0 && op < 0xe4: // jcc, loop, jrcxz
		return p.postpone(p.path.pc + uint64(i.Imm))
	case op >= 0xe8 && op <= 0xeb, op == 0xff && i.Reg&7 > 1: // call, jmp, push r/m
		return p.stepJump(i)
	case op == 0xcc, op == 0xf4, op == 0xf1, op == 0xca, op == 0xcb, op == 0xcf, op == 0xcd && i.Imm != -0x80:
		return stepEndsPath // int3, hlt, int1, retf, iret, int but 0x80
	case op == 0xc2, op == 0xc3, op == 0xc8, op == 0xc9, op == 0xcd: // ret, enter, leave, int 0x80
		return stepFails
	}
	return continueIf(p.noteWrite(writtenByOneByte(i)))
}

func (p *epilogueSearch) stepJump(i *x86.Inst) epilogueStep {
	switch {
	case i.Op == 0xe8: // call
		p.noReturn.afterCall = i.Imm != 0
		return stepContinues
	case i.Op == 0xe9 || i.Op == 0xeb: // jmp
		if p.nruns == maxRuns {
			return stepFails
		}
		if !p.run(p.path.pc + uint64(i.Imm)) {
			return stepEndsPath
		}
		return stepContinues
	case i.Op == 0xff && i.Reg&7 == 2: // call r/m
		p.noReturn.afterCall = true
		return stepContinues
	case i.Op == 0xff && i.Reg&7 == 6:
		return stepContinues // push
	}
	return stepFails
}

func (p *epilogueSearch) stepMove(i *x86.Inst) bool {
	switch op := i.Op; {
	case op == 0x8d: // lea
		// A store relative to a copy of rbp would be into the frame.
		return p.noteWrite(bit(i.Reg)) && (i.Base != hwBP || i.Index != noReg || i.Reg == hwSP)
	case op >= 0xb8 && op < 0xc0: // mov reg, imm
		return p.noteWrite(bit(i.Low()))
	case op == 0x8b && i.Mod == 3, op == 0x89 && i.Mod == 3, op == 0xc7 && i.Mod == 3: // mov to a register
		to, from := i.RM, i.Reg
		if op == 0x8b {
			to, from = from, to
		}
		return p.noteWrite(bit(to)) && (op == 0xc7 || from != hwBP)
	case op == 0x8b: // mov reg, mem
		ok := p.noteWrite(bit(i.Reg))
		plain := i.W && i.Index == noReg && i.Prefix&(x86.PrefixSeg|x86.Prefix67) == 0
		if plain && i.Base == hwBP && i.Reg < 16 && !p.path.stores {
			p.loads[i.Reg] = savedReg{inMemory, hwBP, i.Disp}
		}
		return ok
	}
	p.path.stores = p.path.stores || i.Base == hwBP || i.Base == hwSP
	return storesNoBP(i) // the forward analysis knows the word again after a store of rbp
}

func storesNoBP(i *x86.Inst) bool { return i.Op != 0x89 || i.Reg != hwBP }

func (p *epilogueSearch) isPop() bool {
	b := p.w.code(p.path.pc)
	if len(b) == 0 || b[0] != 0x5d { // pop rbp
		return false
	}
	p.path.pc++
	return true
}

// maxEpilogue is in instructions from the restoring of rbp to the return.
const maxEpilogue = 8

// followToReturn follows the code to the return.
func (p *epilogueSearch) followToReturn() (f finding, ok bool) {
	var i x86.Inst
	ra := poppedRA{reg: noReg}
	for range maxEpilogue {
		if p.path.pc >= p.next || !x86.DecodeInto(p.w.code(p.path.pc), &i) || i.VEX || i.Map != x86.MapOne {
			return f, false
		}
		p.path.pc += uint64(i.Size)
		if i.Op == 0xc2 || i.Op == 0xc3 { // ret
			return p.findingOfFrame(), ra.reg == noReg || ra.pushed
		}
		if !p.stepBeforeReturn(&i, &ra) {
			return f, false
		}
	}
	return f, false
}

// poppedRA is the state of a return address that V8 pops in order to drop arguments, and pushes again.
type poppedRA struct {
	reg    uint8 // the register that has it; noReg: it was not popped
	pushed bool
}

// stepBeforeReturn follows an instruction between the restoring of rbp and the return; false if that is no epilogue. V8
// computes there how many arguments to drop, or pops the return address, drops them and pushes it again.
func (p *epilogueSearch) stepBeforeReturn(i *x86.Inst, ra *poppedRA) bool {
	popped := ra.reg != noReg
	switch op := i.Op; {
	case ra.pushed:
		return false
	case op >= 0x70 && op < 0x80, (op == 0x81 || op == 0x83) && i.Reg&7 == 7 && i.Mod == 3, op == 0x39 && i.Mod == 3,
		op == 0x3b && i.Mod == 3: // jcc, cmp
		return !popped
	case op >= 0x58 && op < 0x60: // pop
		ra.reg = i.Low()
		return !popped && i.Prefix == 0 && p.noteWrite(bit(i.Low())) && i.Low() != hwSP
	case op == 0x8d && i.Reg == hwSP, (op == 0x81 || op == 0x83) && i.Reg&7 == 0 && i.Mod == 3 && i.RM == hwSP:
		// lea rsp, mem; add rsp, imm
		return popped && i.W && i.Base != ra.reg && i.Index != ra.reg
	case op == 0x03 && i.Mod == 3 && i.Reg == hwSP: // add rsp, reg
		return popped && i.W && i.RM != ra.reg && i.RM != hwSP
	case op >= 0x50 && op < 0x58: // push
		ra.pushed = popped && i.Low() == ra.reg && i.Prefix == 0
		return ra.pushed
	}
	return false
}

func (p *epilogueSearch) findingOfFrame() finding {
	f := finding{cfa: startValue(hwBP).plus(16)}
	for i, reg := range p.w.src.abi.calleeSaved {
		switch {
		case reg == hwBP:
			f.calleeSaved[i] = savedReg{inMemory, hwBP, 0}
		case p.path.changed&(1<<reg) != 0:
			f.calleeSaved[i] = p.loads[reg]
		}
	}
	return f
}
