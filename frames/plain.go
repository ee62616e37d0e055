// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/bits"
)

// plainRule is an x86-64 rule without Row in one word; 0: none. Most functions have one.
// A walk with rules in words takes 0.40 to 0.75 of the time that it takes with pointers to rules (warm, n = 7;
// benchmarks/results/unwinding-speed.md).
//
//	bits   0–15  CFAOff / 8
//	bits  16–39  Saved of the six callee-saved registers, 4 bits each
//	bits  40–45  lost
//	bit   46     the CFA is by rbp, else by rsp
//	bit   47     Module.Generated
//	bits  48–50  Method
//	bits  51–63  place of the module in Space.modules
type plainRule uint64

const (
	plainSavedBit  = 16
	plainLostBit   = 40
	plainByFP      = 1 << 46
	plainGenerated = 1 << 47
	plainMethod    = 48
	plainModule    = 51

	plainRegs   = 6
	maxPlainOff = 8<<16 - 8
	maxPlace    = 15 // of a register, in words below the CFA
	maxModule   = 1<<13 - 1
)

// pack returns r in a word, 0 if it does not fit. mod is the place of its module.
func (r *resolvedRule) pack(arch Arch, mod int) (p plainRule) {
	off := uint64(int64(r.CFAOff))
	byFP := r.CFAReg == X86RBP
	switch {
	case arch != X86_64, r.row != nil, r.mod == nil, r.pcIsCurrent, r.Flags&^FlagLosesRegs != 0:
		return 0
	case off > maxPlainOff, off%8 != 0, !byFP && r.CFAReg != X86RSP, mod > maxModule:
		return 0
	}
	for i, place := range r.Saved {
		if place > maxPlace || place != 0 && i >= plainRegs {
			return 0
		}
		p |= plainRule(place&maxPlace) << (plainSavedBit + 4*i&63)
	}
	if r.Flags != 0 {
		p |= plainRule(r.lost) << plainLostBit
	}
	if byFP {
		p |= plainByFP
	}
	if r.mod.Generated {
		p |= plainGenerated
	}
	return p | plainRule(off/8) | plainRule(r.Method)<<plainMethod | plainRule(mod)<<plainModule
}

func (p plainRule) cfaOff() uint64 { return 8 * uint64(p&0xffff) }

func (p plainRule) method() Method { return Method(p >> plainMethod & 7) }

func (p plainRule) lost() uint8 { return uint8(p >> plainLostBit & (1<<plainRegs - 1)) }

// saved has 4 bits for each of the six registers.
func (p plainRule) saved() uint64 { return uint64(p >> plainSavedBit & (1<<(4*plainRegs) - 1)) }

func (p plainRule) module() uint64 { return uint64(p >> plainModule) }

func (p plainRule) unpack(s *Space) resolvedRule {
	r := resolvedRule{plain: p, mod: s.modules[p.module()]}
	r.CFAReg, r.CFAOff, r.Method = X86RSP, int32(p.cfaOff()), p.method()
	if p&plainByFP != 0 {
		r.CFAReg = X86RBP
	}
	if r.lost = p.lost(); r.lost != 0 {
		r.Flags = FlagLosesRegs
	}
	for i := range plainRegs {
		r.Saved[i] = uint8(p.saved() >> (4 * i) & maxPlace)
	}
	return r
}

// deepest returns the greatest distance of a saved register, or the return address, from the CFA, in bytes.
func (p plainRule) deepest() uint64 {
	deepest := uint64(1)
	for saved := p.saved(); saved != 0; saved >>= 4 {
		deepest = max(deepest, saved&maxPlace)
	}
	return 8 * deepest
}

// stepPlain is step where that has no choice: the rule is plain, its words are in the copy of the stack, and the
// caller's rule is cached, on the same stack. Else it returns false and changes nothing.
func (w *Walker) stepPlain() bool {
	p, base := w.rule.plain, X86RSP
	if p&plainByFP != 0 {
		base = X86RBP
	}
	sp, cfa := w.regs.Val[X86RSP], w.regs.Val[base]+p.cfaOff()
	n, stack := cfa-w.stackCopy.Addr, w.stackCopy.Bytes
	switch {
	case p == 0, w.regs.Known&(1<<X86RSP) == 0, w.regs.Known>>base&1 == 0:
		return false
	case cfa-sp-1 >= largeStep, n > uint64(len(stack)), n <= 8*maxPlace && n < p.deepest():
		return false
	}
	stack = stack[:n]
	ra := binary.LittleEndian.Uint64(stack[n-8:])
	to, ok := w.space.cache.get(kindAfterCall, ra)
	next := plainRule(to.word)
	switch {
	case !ok, to.rule != nil && (to.rule.mod == nil || to.rule.pcIsCurrent):
		return false
	case p.method() != MethodCFI && p&next&plainGenerated == 0 && !w.space.followsCall(ra):
		return false
	}
	known := w.regs.Known & w.arch.calleeSaved
	if lost := p.lost(); lost != 0 {
		r := Rule{lost: lost}
		known &^= r.lostRegs(w.arch)
	}
	for saved := p.saved(); saved != 0; {
		shift := bits.TrailingZeros64(saved) &^ 3
		reg := w.arch.compact[shift/4&7] % NumRegs
		w.regs.Val[reg] = binary.LittleEndian.Uint64(stack[n-8*(saved>>shift&maxPlace):])
		known |= 1 << reg
		saved &^= maxPlace << shift
	}
	w.regs.PC, w.regs.Val[X86RSP], w.regs.Known = ra, cfa, known|1<<X86RSP
	w.method, w.interrupted = p.method(), false
	if to.rule != nil {
		w.rule = *to.rule
	} else {
		w.rule.plain, w.rule.mod, w.rule.pcIsCurrent = next, w.space.modules[next.module()], false
	}
	return true
}
