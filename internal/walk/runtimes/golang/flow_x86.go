// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"math/bits"
	"slices"

	"prywalk/frames"
	"prywalk/internal/code/x86"
	"prywalk/internal/walk/managed"
)

// # The stack pointer of functions that load it
//
// An exact interpretation of functions to which pcsp does not apply: rsp, rbp and the saved registers (Intel SDM
// volume 2, tables ).

const (
	bpSame  = iota // the caller's value
	bpFrame        // the address CFA − bpOff
	bpOther
)

type stackState struct {
	spKnown bool
	sp      int32 // CFA = rsp + sp
	bp      uint8
	bpOff   int32
	// copyReg has a copy of rsp, by its number in instructions; 0: none. CFA = copyReg + copyOff.
	copyReg uint8
	copyOff int32
	// saved is a register's distance below the CFA, by DWARF number, or 0.
	saved [16]int16
	// entry: only instructions of the prologue have run.
	entry bool
}

type stackFlow struct {
	offs    []uint32
	insns   []insn
	states  []stackState
	reached []bool
}

const (
	maxFlowBytes = 1 << 13
	maxFlows     = 256
)

// Numbers in instructions.
const (
	regSP = 4
	regBP = 5
)

// stackFlow returns a function's flow. It reaches no instruction of a function that is too long or has an unknown one.
func (t *rules) stackFlow(f *funcInfo) *stackFlow {
	if flow := t.flows[f.entry]; flow != nil {
		return flow
	}
	flow := &stackFlow{}
	if flow.decode(t.codeOf(f)) {
		flow.forward()
		flow.backward()
	}
	managed.Remember(&t.flows, maxFlows, f.entry, flow)
	return flow
}

// stateAt returns the state before the instruction with off; false: no path reaches it.
func (flow *stackFlow) stateAt(off uint64) (stackState, bool) {
	i, ok := slices.BinarySearch(flow.offs, uint32(off))
	if !ok {
		i--
	}
	if i < 0 || i >= len(flow.states) || !flow.reached[i] || off >= uint64(flow.offs[i])+uint64(flow.insns[i].Size) {
		return stackState{}, false
	}
	return flow.states[i], true
}

func (flow *stackFlow) decode(code []byte) bool {
	for off := 0; off < len(code); {
		in, ok := decode(code[off:])
		if !ok {
			return false
		}
		flow.offs, flow.insns = append(flow.offs, uint32(off)), append(flow.insns, in)
		off += int(in.Size)
	}
	flow.states, flow.reached = make([]stackState, len(flow.offs)), make([]bool, len(flow.offs))
	return len(flow.offs) > 0
}

func (flow *stackFlow) forward() {
	flow.states[0], flow.reached[0] = stackState{spKnown: true, sp: 8, entry: true}, true
	work := []int{0}
	for n := 0; len(work) > 0 && n < 1<<16; n++ {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		after := flow.states[i]
		in := &flow.insns[i]
		after.step(in)
		continues, jumps := in.successors()
		if continues && i+1 < len(flow.insns) && flow.merge(i+1, &after) {
			work = append(work, i+1)
		}
		if jumps {
			to := int64(flow.offs[i]) + int64(in.Size) + in.Imm
			if j, ok := slices.BinarySearch(flow.offs, uint32(to)); ok && to >= 0 && flow.merge(j, &after) {
				work = append(work, j)
			}
		}
	}
}

// merge reports a change.
func (flow *stackFlow) merge(i int, s *stackState) bool {
	if !flow.reached[i] {
		flow.states[i], flow.reached[i] = *s, true
		return true
	}
	old := flow.states[i]
	st := &flow.states[i]
	if !s.spKnown || s.sp != st.sp {
		st.spKnown, st.sp = false, 0
	}
	if s.bp != st.bp || s.bpOff != st.bpOff {
		st.bp, st.bpOff = bpOther, 0
	}
	if s.copyReg != st.copyReg || s.copyOff != st.copyOff {
		st.copyReg, st.copyOff = 0, 0
	}
	for r := range st.saved {
		if st.saved[r] != s.saved[r] {
			st.saved[r] = 0
		}
	}
	st.entry = st.entry && s.entry
	return *st != old
}

// backward goes from each return back to a load of rsp or a call, which may not return.
func (flow *stackFlow) backward() {
	for end := range flow.insns {
		if in := &flow.insns[end]; !in.isReturn() || !flow.reached[end] || flow.states[end].spKnown {
			continue
		}
		sp := int32(8)
		for i := end; i >= 0 && flow.reached[i] && !flow.states[i].spKnown; i-- {
			if i < end {
				d, ok := flow.insns[i].spDelta()
				if !ok {
					break
				}
				sp += d
			}
			st := &flow.states[i]
			st.spKnown, st.sp = true, sp
		}
	}
}

// spDelta is false for loads of rsp, calls and jumps.
func (in *insn) spDelta() (int32, bool) {
	s := stackState{spKnown: true, sp: 1 << 20}
	s.step(in)
	continues, jumps := in.successors()
	return 1<<20 - s.sp, s.spKnown && continues && !jumps && !in.isCall() && !in.isIndirectTransfer()
}

func (s *stackState) step(in *insn) {
	switch {
	case in.Map != 0 || in.VEX:
		s.clobberAll(in)
		s.entry = false
	case in.isPush():
		s.sp += 8
		s.store(in.opReg(), s.sp)
	case in.isPushImmediate(), in.Op == opPushFlags:
		s.sp += 8
	case in.isPop():
		s.pop(in.opReg())
	case in.Op == opPopFlags:
		s.sp -= 8
	case in.Op == opClearDirection:
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

func (s *stackState) stepRM(in *insn) {
	if !s.stepPrologue(in) {
		s.entry = false
		s.stepBody(in)
	}
}

func (s *stackState) stepPrologue(in *insn) bool {
	added, addsToSP := in.addsToSP()
	switch {
	case in.W && in.Op == opStore && in.onStack():
		s.store(in.Reg, s.sp-in.Disp)
	case in.moves(regSP, regBP):
		s.setBP(s.sp)
	case in.Op == opLEA && in.onStack() && in.Reg == regBP:
		s.setBP(s.sp - in.Disp)
	case in.Op == opLEA && in.onStack() && in.Reg == regSP:
		s.sp -= in.Disp
	case addsToSP:
		s.sp -= added
	default:
		return false
	}
	return true
}

func (s *stackState) stepBody(in *insn) {
	copied, copiesSP := in.copiesSP()
	switch {
	case s.bp == bpFrame && in.Op == opLEA && in.Reg == regSP && in.inMemoryAt(regBP):
		s.spKnown, s.sp = true, s.bpOff-in.Disp
	case s.bp == bpFrame && in.moves(regBP, regSP):
		s.spKnown, s.sp = true, s.bpOff
	case s.copyReg != 0 && in.movesToSP(s.copyReg):
		s.spKnown, s.sp = true, s.copyOff
	case copiesSP:
		s.copySP(copied)
	case in.Op == opLoad && in.onStack() && in.Reg == regBP && s.hasSavedBP(s.sp-in.Disp):
		s.bp, s.bpOff = bpSame, 0
	default:
		s.writes(in)
	}
}

func (s *stackState) hasSavedBP(off int32) bool {
	return s.spKnown && int32(s.saved[frames.X86RBP]) == off
}

// store records that reg is saved at CFA − off. An off up to 8 is the return address.
func (s *stackState) store(reg uint8, off int32) {
	d := x86.DWARF[reg&15]
	if !s.spKnown || off <= 8 || off > 2040 || s.saved[d] != 0 {
		return
	}
	kept := frames.X86_64.CalleeSaved()&(1<<d) != 0
	if !kept || reg == regBP && s.bp != bpSame || reg != regBP && !s.entry {
		return
	}
	s.saved[d] = int16(off)
}

func (s *stackState) pop(reg uint8) {
	d := x86.DWARF[reg&15]
	popsSaved := s.spKnown && s.saved[d] != 0 && int32(s.saved[d]) == s.sp
	s.sp -= 8
	switch {
	case reg == regBP && popsSaved:
		s.bp, s.bpOff = bpSame, 0
	case reg == regBP && !s.spKnown:
		s.bp, s.bpOff = bpOther, 0
	default:
		s.clobber(reg)
	}
}

func (s *stackState) setBP(off int32) {
	s.bp, s.bpOff = bpFrame, off
	if !s.spKnown {
		s.bp, s.bpOff = bpOther, 0
	}
}

func (s *stackState) copySP(reg uint8) {
	s.clobber(reg)
	if s.spKnown && frames.X86_64.CalleeSaved()&(1<<x86.DWARF[reg&15]) != 0 {
		s.copyReg, s.copyOff = reg, s.sp
	}
}

func (s *stackState) clobber(reg uint8) {
	if s.copyReg != 0 && s.copyReg == reg {
		s.copyReg, s.copyOff = 0, 0
	}
	switch reg {
	case regSP:
		s.spKnown, s.sp = false, 0
	case regBP:
		s.bp, s.bpOff = bpOther, 0
	}
}

func (s *stackState) writes(in *insn) {
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

func (s *stackState) clobberAll(in *insn) {
	for regs := (*x86.Inst)(in).WrittenRegs(); regs != 0; regs &= regs - 1 {
		s.clobber(uint8(bits.TrailingZeros32(regs)))
	}
}
