// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"

	"prywalk/frames"
)

// # The stack pointer of functions that load it
//
// An abstract interpretation of functions of the Go runtime to which pcsp does not apply. It follows rsp, rbp and the
// saved registers over a whole function, and must be exact; package heuristics starts at any pc, and gives a
// hypothesis.
//
// Source of the effects: Intel SDM volume 2 (tables ).

const (
	bpSame  = iota // the caller's value
	bpFrame        // the address CFA − bpOff
	bpOther
)

// state is what is known of the stack before an instruction.
type state struct {
	spKnown bool
	sp      int32 // CFA = rsp + sp
	bp      uint8
	bpOff   int32
	// saved is, by DWARF number, how far below the CFA a register is saved, or 0.
	saved [16]int16
	// entry: only instructions of the prologue have run, so that other registers are the caller's.
	entry bool
}

type flow struct {
	offs    []uint32 // of the instructions, ascending
	insns   []insn
	states  []state
	reached []bool
}

const (
	maxFlowBytes = 1 << 13
	maxFlows     = 256
)

// dwarfX86 maps a register's number in instructions to its DWARF number (System V ABI, figure 3.36).
var dwarfX86 = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// In instructions.
const (
	regSP = 4
	regBP = 5
)

func (t rulesX86) flow(f *funcInfo) *flow {
	if fl := t.flows[f.entry]; fl != nil {
		return fl
	}
	fl := &flow{}
	code := make([]byte, min(f.end-f.entry, maxFlowBytes))
	if f.end-f.entry <= maxFlowBytes && t.img.read(f.entry, code) && fl.decode(code) {
		fl.forward()
		fl.backward()
	}
	if len(t.flows) >= maxFlows {
		clear(t.flows)
	}
	t.flows[f.entry] = fl
	return fl
}

// stateAt returns the state before the instruction with off; false if no path reaches it.
func (fl *flow) stateAt(off uint64) (state, bool) {
	i, ok := slices.BinarySearch(fl.offs, uint32(off))
	if !ok {
		i--
	}
	if i < 0 || i >= len(fl.states) || !fl.reached[i] || off >= uint64(fl.offs[i])+uint64(fl.insns[i].Size) {
		return state{}, false
	}
	return fl.states[i], true
}

func (fl *flow) decode(code []byte) bool {
	for off := 0; off < len(code); {
		in, ok := decode(code[off:])
		if !ok {
			return false
		}
		fl.offs, fl.insns = append(fl.offs, uint32(off)), append(fl.insns, in)
		off += int(in.Size)
	}
	fl.states, fl.reached = make([]state, len(fl.offs)), make([]bool, len(fl.offs))
	return len(fl.offs) > 0
}

// forward propagates the entry state to a fixed point.
func (fl *flow) forward() {
	fl.states[0], fl.reached[0] = state{spKnown: true, sp: 8, entry: true}, true
	work := []int{0}
	for n := 0; len(work) > 0 && n < 1<<16; n++ {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		next := fl.states[i]
		in := &fl.insns[i]
		next.step(in)
		through, target := in.flow()
		if through && i+1 < len(fl.insns) && fl.merge(i+1, &next) {
			work = append(work, i+1)
		}
		if target {
			to := int64(fl.offs[i]) + int64(in.Size) + in.Imm
			if j, ok := slices.BinarySearch(fl.offs, uint32(to)); ok && to >= 0 && fl.merge(j, &next) {
				work = append(work, j)
			}
		}
	}
}

// flow reports whether an instruction may continue to the next, and jump by its immediate.
func (in *insn) flow() (through, target bool) {
	switch {
	case in.Map == 0 && (in.Op == 0xc3 || in.Op == 0xc2 || in.Op == 0xcc || in.Op == 0xcd || in.Op == 0xf4):
		// ret, int3, int, hlt
		return false, false
	case in.Map == 1 && in.Op == 0x0b && !in.VEX: // ud2
		return false, false
	case in.Map == 0 && in.Op == 0xff && in.Reg&7 == 4: // jmp r/m
		return false, false
	case in.Map == 0 && (in.Op == 0xe9 || in.Op == 0xeb): // jmp
		return false, true
	case in.Map == 0 && (in.Op >= 0x70 && in.Op < 0x80 || in.Op >= 0xe0 && in.Op < 0xe4), // jcc, loop, jrcxz
		in.Map == 1 && in.Op >= 0x80 && in.Op < 0x90 && !in.VEX: // jcc rel32
		return true, true
	}
	return true, false
}

// merge reports whether the state before instruction i has changed.
func (fl *flow) merge(i int, s *state) bool {
	if !fl.reached[i] {
		fl.states[i], fl.reached[i] = *s, true
		return true
	}
	old := fl.states[i]
	st := &fl.states[i]
	if !s.spKnown || s.sp != st.sp {
		st.spKnown, st.sp = false, 0
	}
	if s.bp != st.bp || s.bpOff != st.bpOff {
		st.bp, st.bpOff = bpOther, 0
	}
	for r := range st.saved {
		if st.saved[r] != s.saved[r] {
			st.saved[r] = 0
		}
	}
	st.entry = st.entry && s.entry
	return *st != old
}

// backward computes unknown stack pointers from each return back to a load of rsp or a call, which may not return.
func (fl *flow) backward() {
	for end := range fl.insns {
		if in := &fl.insns[end]; in.Map != 0 || in.Op != opRet || !fl.reached[end] || fl.states[end].spKnown {
			continue
		}
		sp := int32(8)
		for i := end; i >= 0 && fl.reached[i] && !fl.states[i].spKnown; i-- {
			if i < end {
				d, ok := fl.insns[i].spDelta()
				if !ok {
					break
				}
				sp += d
			}
			st := &fl.states[i]
			st.spKnown, st.sp = true, sp
		}
	}
}

// spDelta returns by how many bytes an instruction raises rsp; false for loads of rsp, calls and jumps.
func (in *insn) spDelta() (int32, bool) {
	s := state{spKnown: true, sp: 1 << 20}
	s.step(in)
	through, target := in.flow()
	call := in.Map == 0 && (in.Op == 0xe8 || in.Op == 0xff && in.Reg&7 >= 2 && in.Reg&7 < 6) // call, call or jmp r/m
	return 1<<20 - s.sp, s.spKnown && through && !target && !call
}

func (s *state) step(in *insn) {
	if in.Map != 0 || in.VEX {
		s.clobberAll(in)
		s.entry = false
		return
	}
	switch {
	case in.Op >= 0x50 && in.Op < 0x58: // push
		s.sp += 8
		s.store(in.opReg(), s.sp)
	case in.Op == 0x68, in.Op == 0x6a, in.Op == 0x9c: // push imm, pushf
		s.sp += 8
	case in.Op >= 0x58 && in.Op < 0x60: // pop
		s.pop(in.opReg())
	case in.Op == 0x9d: // popf
		s.sp -= 8
	case in.Op == 0xfc: // cld
	case in.HasRM:
		s.stepRM(in)
	default:
		s.clobberAll(in)
		s.entry = false
	}
	if !s.spKnown {
		s.sp = 0
	}
}

func (s *state) stepRM(in *insn) {
	stack := in.Mod != 3 && in.Base == regSP && !in.indexed()
	switch {
	case in.Op == 0x89 && stack && in.W: // mov [rsp+disp], reg
		s.store(in.Reg, s.sp-in.Disp)
		return
	case in.Op == 0x89 && in.Mod == 3 && in.RM == regBP && in.Reg == regSP,
		in.Op == 0x8b && in.Mod == 3 && in.Reg == regBP && in.RM == regSP:
		s.setBP(s.sp) // mov rbp, rsp
		return
	case in.Op == 0x8d && stack && in.Reg == regBP: // lea rbp, [rsp+disp]
		s.setBP(s.sp - in.Disp)
		return
	case in.Op == 0x8d && stack && in.Reg == regSP: // lea rsp, [rsp+disp]
		s.sp -= in.Disp
		return
	case in.Mod == 3 && in.RM == regSP && (in.Op == 0x83 || in.Op == 0x81) && in.Reg&7 == 5: // sub rsp, imm
		s.sp += int32(in.Imm)
		return
	case in.Mod == 3 && in.RM == regSP && (in.Op == 0x83 || in.Op == 0x81) && in.Reg&7 == 0: // add rsp, imm
		s.sp -= int32(in.Imm)
		return
	}
	s.entry = false
	switch {
	case in.Op == 0x8d && in.Reg == regSP && in.Mod != 3 && in.Base == regBP && !in.indexed() && s.bp == bpFrame:
		// lea rsp, [rbp+disp]
		s.spKnown, s.sp = true, s.bpOff-in.Disp
	case in.Op == 0x89 && in.Mod == 3 && in.RM == regSP && in.Reg == regBP && s.bp == bpFrame,
		in.Op == 0x8b && in.Mod == 3 && in.Reg == regSP && in.RM == regBP && s.bp == bpFrame: // mov rsp, rbp
		s.spKnown, s.sp = true, s.bpOff
	case in.Op == 0x8b && stack && in.Reg == regBP && s.spKnown && int32(s.saved[frames.X86RBP]) == s.sp-in.Disp:
		// mov rbp, [rsp+disp], where the caller's rbp is
		s.bp, s.bpOff = bpSame, 0
	default:
		s.writes(in)
	}
}

// store records that reg is saved at CFA − off. An off up to 8 is the return address.
func (s *state) store(reg uint8, off int32) {
	d := dwarfX86[reg&15]
	if !s.spKnown || off <= 8 || off > 2040 || s.saved[d] != 0 {
		return
	}
	kept := frames.X86_64.CalleeSaved()&(1<<d) != 0
	if !kept || reg == regBP && s.bp != bpSame || reg != regBP && !s.entry {
		return
	}
	s.saved[d] = int16(off)
}

func (s *state) pop(reg uint8) {
	d := dwarfX86[reg&15]
	own := s.spKnown && s.saved[d] != 0 && int32(s.saved[d]) == s.sp
	s.sp -= 8
	switch {
	case reg == regBP && own:
		s.bp, s.bpOff = bpSame, 0
	case reg == regBP && !s.spKnown:
		s.bp, s.bpOff = bpOther, 0
	default:
		s.clobber(reg)
	}
}

func (s *state) setBP(off int32) {
	s.bp, s.bpOff = bpFrame, off
	if !s.spKnown {
		s.bp, s.bpOff = bpOther, 0
	}
}

func (s *state) clobber(reg uint8) {
	switch reg {
	case regSP:
		s.spKnown, s.sp = false, 0
	case regBP:
		s.bp, s.bpOff = bpOther, 0
	}
}

// writes clobbers the registers that an instruction with ModRM writes.
func (s *state) writes(in *insn) {
	switch {
	case in.Op == 0xff && in.Reg&7 == 6: // push r/m
		s.sp += 8
		return
	case in.Op == 0xff && in.Reg&7 >= 2: // calls and jumps
		return
	case in.Op == 0x8f: // pop r/m
		s.sp -= 8
	}
	s.clobberAll(in)
}

func (s *state) clobberAll(in *insn) {
	regs, _ := in.written()
	for _, r := range [...]uint8{regSP, regBP} {
		if regs>>r&1 != 0 {
			s.clobber(r)
		}
	}
}
