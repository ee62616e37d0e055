// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/frames"

func interpretedRuleARM64() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: regFP, Method: frames.MethodCFI}, interpretedARM64, true
}

type methodEntry struct {
	setsFP       uint64 // of add x29, sp, #…
	storesSender uint64 // of the store of the caller's sp
	sender       uint8  // register of the caller's sp
}

// entryOf matches add x29, sp, #n; …; stp xzr, sender, [sp, #n-16].
func (v window) entryOf() (e methodEntry) {
	for pc := v.low; ; pc += insnBytes {
		w, ok := v.at(pc)
		if !ok {
			return methodEntry{}
		}
		if !w.is(0xffc003ff, 0x910003fd) || w == setFP {
			continue
		}
		n := int64(uint32(w) >> 10 & 0xfff)
		for i := uint64(1); i <= maxStore; i++ {
			s, _ := v.at(pc + i*insnBytes)
			if s.is(0xffc003ff, 0xa90003ff) && 8*s.signed(15, 7) == n-2*wordBytes && s.rt2() != regSP {
				return methodEntry{pc, pc + i*insnBytes, s.rt2()}
			}
		}
	}
}

const maxStore = 8 // instructions

func (v *VM) entryCode(c *codelet) window {
	return window{c.begin, v.code(c.begin, min(c.end-c.begin, maxEntry))}
}

// ruleInEntryARM64 returns the rule in the entry of an interpreted method.
func (v *VM) ruleInEntryARM64(c *codelet, pc uint64) (rule frames.Rule, row *frames.Row, ok bool) {
	code := v.entryCode(c)
	e := code.entryOf()
	switch {
	case e.setsFP == 0:
		return v.ruleInIntrinsicARM64(code, pc)
	case pc <= e.setsFP:
		rule, row, ok = inLR(bySender(e.sender))
		return rule, row, ok && !code.callsBefore(pc)
	case pc <= e.storesSender:
		row = clobbered()
		row.CFAReg, row.CFAExpr = e.sender, atLeast{reg: e.sender, other: regFP, above: 2 * wordBytes}
		row.RA, row.Regs[regFP] = interpretedARM64.RA, interpretedARM64.Regs[regFP]
		row.Regs[regLR] = row.RA
		return frames.Rule{CFAReg: e.sender, Method: frames.MethodCFI}, row, true
	}
	return v.around(c.begin, c.end, pc).inActivation(pc, false)
}

// callsBefore reports whether a call, which changes x30, may precede pc.
func (v window) callsBefore(pc uint64) bool {
	for q := v.low; q < pc; q += insnBytes {
		if w, ok := v.at(q); !ok || w.calls() {
			return true
		}
	}
	return false
}

func (v *VM) ruleInIntrinsicARM64(code window, pc uint64) (frames.Rule, *frames.Row, bool) {
	if rule, row, ok := code.afterIntrinsicCall(pc); ok {
		return rule, row, true
	}
	if v.sender == 0 || code.callsBefore(pc) {
		return frames.Rule{}, nil, false
	}
	for q := code.low; q < pc; q += insnBytes {
		w, _ := code.at(q)
		if w.is(0xfffffc1f, 0x9100001f) && w.rn() == v.sender { // mov sp, sender
			return leaf, nil, true
		}
		if c, _ := w.stack(); c != level {
			return frames.Rule{}, nil, false
		}
	}
	return inLR(bySender(v.sender))
}

// afterIntrinsicCall returns the rule after an intrinsic's call, which br reg follows
// (TemplateInterpreterGenerator::generate_math_entry).
func (v window) afterIntrinsicCall(pc uint64) (rule frames.Rule, row *frames.Row, ok bool) {
	last, _ := v.at(pc - insnBytes)
	w, _ := v.at(pc)
	if !last.calls() || !w.is(0xfffffc1f, 0xd61f0000) || w.rn() < 19 || w.rn() >= regFP {
		return rule, nil, false
	}
	row = clobbered()
	row.CFAReg, row.RA = regSP, frames.RegRule{Kind: frames.RuleReg, Reg: w.rn()}
	row.Regs[regLR] = row.RA
	return frames.Rule{CFAReg: regSP, Method: frames.MethodCFI}, row, true
}

// inActivation is for an interpreted frame and its removal (InterpreterMacroAssembler::remove_activation), with the
// caller's sp in x20:
//
//	mov sp, x29; ldp x29, x30, [sp], #16; …; and sp, x20, #-16; …; ret
//
// or, after an exception (generate_throw_exception):
//
//	…; stp x0, x30, [sp, #-16]!; …; bl; …; ldp x0, x30, [sp], #16; …; br x1
//
// GC barriers make a C frame within it.
func (v window) inActivation(pc uint64, afterCall bool) (frames.Rule, *frames.Row, bool) {
	at := pc
	for n := 0; n < bytesBefore/insnBytes; n++ {
		at -= insnBytes
		w, ok := v.at(at)
		if !ok {
			break
		}
		if w == setFP {
			return frames.Rule{}, nil, false // a C frame
		}
		if w == popPair {
			if !v.endsActivation(at) {
				break
			}
			return v.afterActivation(at+insnBytes, pc, afterCall)
		}
		if f, _ := w.flow(); f == flowJump || f == flowReturn || f == flowAway {
			break
		}
	}
	return interpretedRuleARM64()
}

func (v window) endsActivation(at uint64) bool {
	for i := uint64(1); i <= maxEnd; i++ {
		w, _ := v.at(at + i*insnBytes)
		if w == alignESP || w == moveESP {
			return true
		}
		if c, _ := w.stack(); c != level {
			return false
		}
		if f, _ := w.flow(); f != flowNext {
			return false
		}
	}
	return false
}

const maxEnd = 6

func (v window) afterActivation(from, pc uint64, afterCall bool) (frames.Rule, *frames.Row, bool) {
	var state popState
	for q := from; q < pc; q += insnBytes {
		if w, ok := v.at(q); !ok || !state.advance(w) {
			return frames.Rule{}, nil, false
		}
	}
	switch {
	case state.stored:
		row := clobbered()
		row.CFAReg, row.CFAOff = regSP, state.pushed
		row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -wordBytes}
		row.Regs[regLR] = row.RA
		return frames.Rule{CFAReg: regSP, CFAOff: int32(state.pushed), Method: frames.MethodCFI}, row, true
	case state.lost || afterCall || state.pushed != 0:
		return frames.Rule{}, nil, false
	case state.back:
		return leaf, nil, true
	}
	return inLR(bySender(v.senderAfterPop(pc)))
}

type popState struct {
	back   bool  // sp was the caller's
	pushed int64 // bytes since then
	stored bool  // the return address is pushed first
	lost   bool  // x30 has another value
}

func (s *popState) advance(w insn) bool {
	c, n := w.stack()
	switch {
	case !s.back && (w == alignESP || w == moveESP):
		s.back = true
	case w == popX0LR && s.stored && s.pushed == 2*wordBytes:
		s.stored, s.lost, s.pushed = false, false, 0
	case c == lowers && s.back:
		s.stored = s.stored || w == pushX0LR && s.pushed == 0
		s.pushed += n
	case c == raises && s.back && s.pushed > n:
		s.pushed -= n
	case c != level:
		return false
	case w.calls():
		s.lost = true
	}
	return true
}

// senderAfterPop returns the register with the caller's sp: x20, or one to which it was moved later (JDK 25).
func (v window) senderAfterPop(pc uint64) uint8 {
	for i := uint64(0); i < maxEnd; i++ {
		w, _ := v.at(pc + i*insnBytes)
		if w.is(0xffe0ffff, 0xaa0003e0|regESP) { // mov x20, reg
			return uint8(w >> 16 & 31)
		}
	}
	return regESP
}

const regESP = 20
