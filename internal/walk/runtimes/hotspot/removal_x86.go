// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

// # Interpreter frames that are removed
//
// By a return, with the caller's sp in rbx or r11 (InterpreterMacroAssembler::remove_activation,
// TemplateInterpreterGenerator::generate_native_entry):
//
//	leave
//	mov byte [r15+disp32], imm8                       since JDK 25
//	pop reg
//	mov rsp, sender
//	cmp rsp, [r15+disp32]; jb +11; mov qword [r15+disp32], imm32        since JDK 21
//	jmp reg
//
// By on-stack replacement, with the caller's sp in rdx (TemplateTable::branch):
//
//	leave; ...; pop reg; mov rsp, rdx; and rsp, -16; push reg; jmp [rbx+disp]
//
// By an exception (TemplateInterpreterGenerator::generate_throw_exception):
//
//	leave; pop rdx; mov rsp, sender; ...; push rax; push rdx; ...; call; ...; mov rbx, rax; pop rdx; pop rax; jmp rbx
//
// What follows the leave is like a function's entry, with the return address at sp.

// Bytes from a leave to pc, through the mov of sp, and to where the sender's register may have another value.
const (
	removalBytes = 128
	leaveBytes   = 14
	senderBytes  = 20
)

var (
	clearsByte = []byte{0x41, 0xc6, 0x87} // mov byte [r15+disp32], imm8
	senders    = []struct {
		mov []byte
		reg uint8
	}{
		{[]byte{0x48, 0x8b, 0xe3}, frames.X86RBX}, // mov rsp, rbx
		{[]byte{0x49, 0x8b, 0xe3}, regR11},
		{[]byte{0x48, 0x8b, 0xe2}, frames.X86RDX},
	}
)

// ruleInRemoval is for code after a leave. found without ok: such code may be at pc, and is not known.
func (v *VM) ruleInRemoval(c *codelet, pc uint64) (rule frames.Rule, row *frames.Row, ok, found bool) {
	from := max(c.begin, pc-removalBytes)
	code := v.code(from, pc-from+leaveBytes)
	for end := min(int(pc-from), len(code)); ; {
		end = bytes.LastIndexByte(code[:end], opLeave)
		if end < 0 {
			return rule, nil, false, found
		}
		entry := from + uint64(end) + 1
		sender, popped := senderAfter(code[end+1:])
		if sender != 0 {
			if r, _ := v.analysis.ReturnAddress(pc, entry, c.end); r.Entry == entry && r.RA.Kind != frames.RuleSame {
				switch {
				case r.Moved:
					rule, row, ok = ruleAtPlace(r.RA, r.Reg, r.Off)
				case pc-entry <= senderBytes:
					rule, row, ok = ruleAtPlace(r.RA, sender, 0)
				}
				return rule, row, ok, true
			}
		}
		found = found || popped && pc-entry <= leaveBytes
	}
}

// ruleAtPlace has CFA = reg + off, and the return address in a register or in memory.
func ruleAtPlace(ra frames.RegRule, reg uint8, off int64) (frames.Rule, *frames.Row, bool) {
	if ra.Kind == frames.RuleReg {
		return ruleRAInReg(ra.Reg, reg, int32(off))
	}
	row := callerRow(reg, int32(off))
	row.RA = ra
	return byRow(row, frames.MethodCFI)
}

// senderAfter returns the register with the caller's sp from code after a leave, or 0 if it is not known. popped means
// that the code begins with a pop.
func senderAfter(code []byte) (sender uint8, popped bool) {
	if bytes.HasPrefix(code, clearsByte) {
		code = code[min(8, len(code)):]
	}
	code = bytes.TrimPrefix(code, []byte{rexB})
	if len(code) == 0 || code[0]&^7 != opPop {
		return 0, false
	}
	for i := range senders {
		if bytes.HasPrefix(code[1:], senders[i].mov) {
			return senders[i].reg, true
		}
	}
	return 0, true
}
