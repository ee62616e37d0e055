// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/internal/code/x86"
)

// # Inline retpolines
//
//	      call over                pushes the address of trap
//	trap: pause; lfence; jmp trap  what the processor speculates
//	over: mov [rsp], rax; ret      a jump (GCC's -mindirect-branch=thunk-inline)
//	      lea rsp, [rsp+8]; ret    or a return (-mfunction-return=thunk-inline)

var (
	trapX86    = []byte{0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9}
	dropTopX86 = []byte{0x48, 0x8d, 0x64, 0x24, 0x08}
)

// isRetpolineX86 reports whether i is a call over a trap. behind is the code behind it.
func isRetpolineX86(i *x86.Inst, behind []byte) bool {
	return i.Map == x86.MapOne && i.Op == 0xe8 && i.Imm == int64(len(trapX86)) && bytes.HasPrefix(behind, trapX86)
}

func stepRetpolineX86(st *symbolicState, i *x86.Inst, behind []byte, f *flow) {
	if f.kind = flowIndirect; bytes.HasPrefix(behind[len(trapX86):], dropTopX86) {
		st.push(hwSP, value{})
		f.kind, f.target = flowJump, targetX86(st, i)
	}
}
