// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/code/x86"
)

// ruleX86 returns the rule of a function of kind k. delta is pcsp's value, which may not hold if spWrite.
func (t *rules) ruleX86(q frames.Query, f *funcInfo, k funcKind, spWrite bool, delta int32) (
	frames.Rule, *frames.Row, bool,
) {
	r := frames.Rule{CFAReg: frames.X86RSP, CFAOff: delta + 8, Method: frames.MethodCFI}
	switch {
	case delta < 0:
		return t.poppedX86(q, f)
	case k == kindSigreturn:
		return sigreturnX86()
	case spWrite || k == kindFollow || k == kindTrampoline || k == kindCgoCall || k == kindMorestack:
		return t.followedX86(q, f, k, r)
	case k == kindInjected:
		r.Flags |= frames.FlagExactPC
	}
	if t.savesBP(f, q.LookupPC(t.funcs.img.Arch), delta) {
		r.Saved[0] = 2 // CFA − 16
	}
	return r, nil, true
}

// followedX86 returns the rule by its instructions (paths_x86.go); r is the rule by pcsp.
func (t *rules) followedX86(q frames.Query, f *funcInfo, k funcKind, r frames.Rule) (frames.Rule, *frames.Row, bool) {
	p, ok := t.pathAt(f, q.LookupPC(t.funcs.img.Arch))
	if k == kindTrampoline {
		r.Flags |= frames.FlagExactPC // the stub's pc is no return address
	}
	var sp int32
	spKnown := false
	if ok {
		sp, spKnown = p.stackIn(regSP)
	}
	switch {
	case !ok && (k == kindFollow || k == kindTrampoline) && f.flag&flagSPWrite == 0:
		return r, nil, true
	case !ok:
		return refuse()
	case spKnown && k == kindStackEnd && !q.AfterCall && !q.SPOnly && t.afterSyscall(f, q.PC):
		return createdX86(sp)
	case spKnown:
	case k == kindCgoCall && q.AfterCall:
		return t.cgoCallX86(f, q.LookupPC(t.funcs.img.Arch), p)
	case k == kindMorestack, k == kindSystemStack && p.keeps(regBP):
		return t.schedX86(q, k)
	case k == kindGogo:
		return t.gogoX86(q, f)
	case k == kindStackEnd: // rbp may point into the old stack
		return root()
	}
	if !p.setCFA(&r, q.SPOnly) {
		return refuse()
	}
	for i, reg := range compactX86 {
		if reg == frames.NoReg {
			continue
		}
		if u, ok := frames.SavedUnits(-p.saved(numberX86(reg))); ok {
			r.Saved[i] = u
		}
	}
	if r.Saved[0] == 0 && !p.keeps(regBP) {
		row := t.rowOf(r) // rbp is lost
		row.Regs[frames.X86RBP].Kind = frames.RuleUndefined
		return frames.Rule{CFAReg: r.CFAReg, Flags: r.Flags, Method: r.Method}, row, true
	}
	return r, nil, true
}

// setCFA sets the CFA of r by the stack pointer, or by a register that is kept across calls and has an address on the
// function's stack, rbp first; it returns false if it is unknown.
func (p *pathX86) setCFA(r *frames.Rule, spOnly bool) bool {
	for _, reg := range []uint8{regSP, regBP, 3, 12, 13, 14, 15} {
		if off, ok := p.stackIn(reg); ok && (reg == regSP || !spOnly) {
			if r.CFAReg, r.CFAOff = x86.DWARF[reg], off; reg != regSP {
				r.Flags |= frames.FlagStackSwitch
			}
			return true
		}
	}
	return false
}

var compactX86 = frames.X86_64.CompactRegs()

// numberX86 returns the number in instructions of a register that calls keep, by its DWARF number.
func numberX86(reg uint8) uint8 { return uint8(slices.Index(x86.DWARF[:], reg)) }

// poppedX86 returns the rule of syscall.rawVforkSyscall, which pops its return address into r12.
func (t *rules) poppedX86(q frames.Query, f *funcInfo) (frames.Rule, *frames.Row, bool) {
	s := t.funcs.steps(f.pcsp, f.entry)
	for s.next() && s.val >= 0 {
	}
	var b [2]byte
	if s.val != -8 || !t.funcs.img.read(s.start-2, b[:]) || b != [2]byte{0x41, 0x5c} || q.AfterCall { // pop r12
		return refuse()
	}
	row := &frames.Row{CFAReg: frames.X86RSP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: frames.X86R12}}
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagStackSwitch, Method: frames.MethodCFI}, row, true
}

// savesBP reports whether rbp is saved at CFA − 16; else it is the caller's.
func (t *rules) savesBP(f *funcInfo, pc uint64, delta int32) bool {
	if delta < 8 {
		return false
	}
	s := t.funcs.steps(f.pcsp, f.entry)
	for s.next() && s.val <= 0 {
	}
	// s.start is after push rbp (since Go 1.21), or between sub rsp and the store of rbp.
	var b [8]byte
	n := min(f.end-s.start+1, uint64(len(b)))
	if s.val <= 0 || s.start <= f.entry || !t.funcs.img.read(s.start-1, b[:n]) {
		return true // unreadable; frames without rbp are rare
	}
	if b[0] == 0x55 { // push rbp
		return true
	}
	at, size := storedBP(b[1:n])
	return size != 0 && at == s.val-8 && pc >= s.start+uint64(size)
}

// storedBP decodes mov [rsp+disp], rbp.
func storedBP(b []byte) (disp int32, size int) {
	switch {
	case len(b) >= 5 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0x6c && b[3] == 0x24:
		return int32(int8(b[4])), 5
	case len(b) >= 4 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0x2c && b[3] == 0x24:
		return 0, 4
	case len(b) >= 7 && b[0] == 0x48 && b[1] == 0x89 && b[2] == 0xac && b[3] == 0x24:
		// 24 bits suffice for frames
		return int32(binary.LittleEndian.Uint16(b[4:])) | int32(b[6])<<16, 8
	}
	return 0, 0
}

func sigreturnX86() (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, Flags: frames.FlagExactPC, Method: frames.MethodCFI}, sigreturnRowX86, true
}

var sigreturnRowX86 = heuristics.SignalRow(frames.X86_64)
