// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// FindFrame returns the verified CFA of the frame at pc. unread is the address of an unreadable word, or 0.
type FindFrame func(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool)

// VerifiedRule is the rule of frames that are searched and verified. The return address is at CFA−8.
type VerifiedRule struct {
	Row  frames.Row
	find FindFrame
}

var _ frames.CFAFinder = (*VerifiedRule)(nil)

// NewVerifiedRule makes the rule. saved has distances below the CFA, bytes.
func NewVerifiedRule(find FindFrame, saved map[uint8]int64) *VerifiedRule {
	p := &VerifiedRule{find: find}
	p.Row.CFAExpr = p
	p.Row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	p.save(saved)
	return p
}

// save adds saved registers.
func (r *VerifiedRule) save(saved map[uint8]int64) {
	for reg, below := range saved {
		r.Row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -below}
	}
}

// Rule implements [frames.RuleSource].
func (r *VerifiedRule) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodHeuristic}, &r.Row, true
}

// Eval implements [frames.Expr].
func (r *VerifiedRule) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := r.find(regs, mem, regs.PC)
	return cfa, ok
}

// FindCFA implements [frames.CFAFinder].
func (r *VerifiedRule) FindCFA(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	return r.find(regs, mem, pc)
}
