// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"

	"prywalk/frames"
)

// ruleX86 gives the rule on x86-64, where the call pushed the return address.
func (t *Table) ruleX86(q frames.Query, f *fn, k kind, spWrite bool, delta int32) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: frames.X86RSP, CFAOff: delta + 8, Method: frames.MethodCFI}
	switch {
	case delta < 0:
		return t.poppedX86(q, f)
	case k == kindSigreturn:
		r, row := t.sigreturnX86()
		return r, row, true
	case spWrite || k == kindFollow || k == kindTrampoline || k == kindCgoCall || k == kindMorestack:
		return t.followedX86(q, f, k, r)
	case k == kindInjected:
		r.Flags |= frames.FlagSignal
	}
	pc := q.Lookup(t.img.Arch)
	if off := t.savedBP(f, pc, delta); off != 0 {
		r.Saved[0] = uint8(off / 8)
	}
	return r, nil, true
}

// followedX86 gives the rule where the data flow of the function decides.
func (t *Table) followedX86(q frames.Query, f *fn, k kind, r frames.Rule) (frames.Rule, *frames.Row, bool) {
	st, ok := t.flow(f).at(q.Lookup(t.img.Arch) - f.entry)
	if k == kindTrampoline {
		r.Flags |= frames.FlagSignal // its caller, the stub, is at an exact pc
	}
	switch {
	case !ok && (k == kindFollow || k == kindTrampoline) && f.flag&flagSPWrite == 0:
		return r, nil, true
	case !ok:
		return t.refuse()
	case st.spKnown && k == kindEnds && !q.Caller && !q.SPOnly && t.behindCall(f, q.PC):
		return t.bornX86(st.sp)
	case st.spKnown:
		r.CFAOff = st.sp
	case k == kindCgoCall && q.Caller:
		return t.cgoCallX86(f, q.Lookup(t.img.Arch), &st)
	case k == kindMorestack, k == kindSystemStack && st.bp == bpSame:
		return t.schedX86(q, k)
	case k == kindGogo:
		return t.gogoX86(q, f)
	case k == kindEnds: // also where rbp still points into the stack that was left
		return root()
	case st.bp == bpFrame && !q.SPOnly:
		r.CFAReg, r.CFAOff = frames.X86RBP, st.bpOff
		r.Flags |= frames.FlagSwitch
	default:
		return t.refuse()
	}
	st.fillRule(&r)
	if r.Saved[0] == 0 && st.bp != bpSame {
		return t.withoutBP(r)
	}
	return r, nil, true
}

// withoutBP turns r into a rule that says that the caller's rbp is lost.
func (t *Table) withoutBP(r frames.Rule) (frames.Rule, *frames.Row, bool) {
	row := t.row(rowKey{kind: kindFollow, delta: r.CFAOff, pc: uint64(r.CFAReg)}, func() *frames.Row {
		row := &frames.Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff), RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
		row.Regs[frames.X86RBP].Kind = frames.RuleUndefined
		return row
	})
	return frames.Rule{CFAReg: r.CFAReg, Flags: r.Flags, Method: r.Method}, row, true
}

// fillRule tells where the registers that the state knows to be saved are.
func (s *state) fillRule(r *frames.Rule) {
	for i, reg := range [...]uint8{frames.X86RBP, frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14,
		frames.X86R15} {
		if off := s.saved[reg]; off > 0 {
			if u, ok := frames.SavedUnits(-int64(off)); ok {
				r.Saved[i] = u
			}
		}
	}
}

// poppedX86 gives the rule where a function keeps its return address in r12. vfork's caller must not leave it on a
// stack that the child writes to (syscall.rawVforkSyscall pops it before the call).
func (t *Table) poppedX86(q frames.Query, f *fn) (frames.Rule, *frames.Row, bool) {
	s := t.steps(f.pcsp, f.entry)
	for s.next() && s.val >= 0 {
	}
	var b [2]byte
	if s.val != -8 || !t.img.read(s.start-2, b[:]) || b != [2]byte{0x41, 0x5c} || q.Caller {
		return t.refuse()
	}
	row := t.row(rowKey{kind: kindPlain, delta: -8}, func() *frames.Row {
		return &frames.Row{CFAReg: frames.X86RSP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: frames.X86R12}}
	})
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagSwitch, Method: frames.MethodCFI}, row, true
}

// savedBP gives how far below the CFA the prologue has stored rbp, 0 while rbp
// still holds the caller's value.
func (t *Table) savedBP(f *fn, pc uint64, delta int32) int32 {
	if delta < 8 {
		return 0
	}
	s := t.steps(f.pcsp, f.entry)
	for s.next() && s.val <= 0 {
	}
	// The frame begins at s.start: with a push of rbp since Go 1.21, with one
	// subtraction and a store before.
	var b [8]byte
	n := min(f.end-s.start+1, uint64(len(b)))
	if s.val <= 0 || s.start <= f.entry || !t.img.read(s.start-1, b[:n]) {
		return 16 // no code to look at; frames without rbp are rare
	}
	if b[0] == 0x55 {
		return 16
	}
	at, size := storedBP(b[1:n])
	if size == 0 || at != s.val-8 || pc < s.start+uint64(size) {
		return 0
	}
	return 16
}

// storedBP decodes mov [rsp+disp], rbp and gives disp and the length, 0 if b is
// something else.
func storedBP(b []byte) (disp int32, size int) {
	switch {
	case len(b) >= 5 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0x6c && b[3] == 0x24:
		return int32(int8(b[4])), 5
	case len(b) >= 4 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0x2c && b[3] == 0x24:
		return 0, 4
	case len(b) >= 7 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0xac && b[3] == 0x24:
		// Of a 32-bit displacement seven bytes show the low three; frames
		// are below 2^24 wherever the fourth is zero, and larger ones do
		// not occur before the stack limit.
		return int32(binary.LittleEndian.Uint16(b[4:])) | int32(b[6])<<16, 8
	}
	return 0, 0
}

// uctxX86 gives for each DWARF register its offset in the ucontext that the
// kernel puts at rsp of the code that returns from a signal
// (arch/x86/include/uapi/asm/sigcontext.h; uc_mcontext is at 40).
var uctxX86 = [17]int64{
	144, 136, 152, 128, 112, 104, 120, 160, // rax rdx rcx rbx rsi rdi rbp rsp
	40, 48, 56, 64, 72, 80, 88, 96, // r8 to r15
	168, // rip
}

// sigreturnX86 gives the rule of a signal return stub: rsp is the ucontext.
func (t *Table) sigreturnX86() (frames.Rule, *frames.Row) {
	row := t.row(rowKey{kind: kindSigreturn}, func() *frames.Row {
		row := &frames.Row{
			CFAReg: frames.X86RSP, CFAOff: uctxX86[frames.X86RSP], CFADeref: true,
			RA: frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: uctxX86[frames.X86RA]},
		}
		for reg := range uint8(16) {
			if reg != frames.X86RSP {
				row.Regs[reg] = frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RSP, Off: uctxX86[reg]}
			}
		}
		return row
	})
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagSignal, Method: frames.MethodCFI}, row
}
