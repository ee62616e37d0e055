// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"bytes"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// sbcl finds the frames of SBCL's code by frame pointer. The caller stores its own in the callee's frame, sets rbp, and
// calls; the callee moves the return address there. In between, rbp's frame is the callee's or incomplete. Runtime
// routines have no frame.
//
// Source: src/compiler/x86-64/call.lisp (allocate-frame, xep-allocate-frame, return).
type sbcl struct {
	*process
	frame   *managed.VerifiedRule
	entered uint64 // C's call of Lisp returns there
}

// call_into_lisp's, in the order of [frames.Rule.Saved].
var lispSaved = [frames.NumCompact]uint8{2, 3, 4, 5, 6, 7}

// lispEntryLen is up to the call, in bytes.
const lispEntryLen = 128

var (
	lispPrologue  = []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x57, 0x56, 0x52}
	lispCall      = []byte{0xff, 0x50, 0xfd}
	lispPopReturn = []byte{0x8f, 0x45, 0x08} // pop [rbp + 8]
	lispSetsFP    = [][]byte{{0x48, 0x8b, 0xec}, {0x48, 0x89, 0xe5}, {0x48, 0x8b, 0xeb}, {0x48, 0x89, 0xdd},
		{0x49, 0x8b, 0xe9}, {0x4c, 0x89, 0xcd}}
	lispClearCarry = []byte{0xf8}
)

const lispRoutine = 2 << 10 // bytes

func newSBCL(p *process) *FrameRules {
	s := &sbcl{process: p}
	s.frame = newFrame(s.prove)
	p.eachText(p.lib, lispEntryLen, s.findEntry)
	s.frame.Row.Regs[frames.X86RBP] = frames.RegRule{Kind: frames.RuleValExpr, Expr: lispFP{s}}
	return &FrameRules{Early: s.frame, File: ruleFunc(s.entryRule)}
}

// entryRule is the rule at C's call of Lisp, where call frame information assumes the callee's rbp, but Lisp returns
// the caller's.
func (s *sbcl) entryRule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if !q.AfterCall || s.entered == 0 || q.PC+s.lib.Bias != s.entered {
		return frames.Rule{}, nil, false
	}
	return frames.Rule{
		Method: frames.MethodHeuristic, Flags: frames.FlagStackSwitch,
		CFAReg: frames.X86RBP, CFAOff: 16, Saved: lispSaved,
	}, nil, true
}

// findEntry finds push rbp; mov rbp, rsp; push rbx, r12, r13, r14, r15; …; call [rax − 3].
func (s *sbcl) findEntry(addr uint64, code []byte) bool {
	i := bytes.Index(code, lispPrologue)
	if i < 0 || i+lispEntryLen > len(code) {
		return false
	}
	n := bytes.Index(code[i:i+lispEntryLen], lispCall)
	if n < 0 {
		return false
	}
	s.entered = addr + uint64(i+n+len(lispCall))
	return true
}

type callerKind uint8

const (
	lispByFP    callerKind = iota
	lispNext               // rbp is the next callee's frame
	lispEntered            // return address at sp
	lispTop                // no frame, return address at sp
)

// callerOf classifies pc, a return address unless it is regs.PC.
func (s *sbcl) callerOf(regs *frames.Regs, mem frames.Memory, pc uint64) callerKind {
	if pc != regs.PC {
		return lispByFP
	}
	var b [11]byte
	const at = 5
	if s.Read(pc-at, b[:]) < len(b) {
		return lispByFP
	}
	before, code := b[:at], b[at:]
	switch {
	case bytes.HasPrefix(code, lispPopReturn):
		return lispEntered
	case isCall(code) && slices.ContainsFunc(lispSetsFP, func(sets []byte) bool { return bytes.HasSuffix(before, sets) }):
		return lispNext
	case code[0] == 0xc3 && (before[at-1] == 0x5d || before[at-1] == 0xc9 || bytes.HasSuffix(before, []byte{0xc9, 0xf8})),
		bytes.HasPrefix(code, lispClearCarry) && before[at-1] == 0xc9:
		return lispTop
	}
	if sp, ok := regs.Get(frames.X86RSP); ok && s.inRoutine(mem, sp, pc) {
		return lispTop
	}
	return lispByFP
}

func isCall(code []byte) bool {
	return code[0] == 0xe8 || code[0] == 0xff && code[1]>>3&7 == 2
}

// inRoutine reports whether the word at sp follows a direct call of code shortly before pc.
func (s *sbcl) inRoutine(mem frames.Memory, sp, pc uint64) bool {
	ret, readable := mem.Word(sp)
	call, _, ok := s.callBefore(ret)
	return readable && ok && call.Direct && pc-call.Target < lispRoutine
}

func (s *sbcl) prove(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	fp, ok1 := regs.Get(frames.X86RBP)
	sp, ok2 := regs.Get(frames.X86RSP)
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	switch s.callerOf(regs, mem, pc) {
	case lispByFP:
		cfa = fp + 16
	case lispNext:
		outer, readable := mem.Word(fp)
		if !readable {
			return 0, fp, false
		}
		cfa = outer + 16
	default:
		cfa = sp + 8
	}
	ret, readable := mem.Word(cfa - 8)
	if !readable {
		return 0, cfa - 8, false
	}
	return cfa, 0, s.followsCall(ret)
}

type lispFP struct{ s *sbcl }

// Eval implements [frames.Expr].
func (f lispFP) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	fp, ok := regs.Get(frames.X86RBP)
	switch {
	case !ok:
		return 0, false
	case cfa == fp+16:
		return mem.Word(fp)
	}
	sp, _ := regs.Get(frames.X86RSP)
	if cfa != sp+8 {
		return mem.Word(cfa - 16)
	}
	if f.s.callerOf(regs, mem, regs.PC) == lispEntered {
		return mem.Word(fp)
	}
	return fp, true
}
