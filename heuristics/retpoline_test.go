// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	encodinghex "encoding/hex"
	"testing"

	"prywalk/frames"
)

// As GCC 12 compiles a loop of indirect calls with -mindirect-branch=thunk-inline -mfunction-return=thunk-inline.
const retpolines = "4154" + "53" + "4883ec08" + // push r12; push rbx; sub rsp, 8
	"eb11" + // at 7: jmp to the call at 26
	"e807000000" + "f3900faee8ebf9" + "48890424c3" + // at 9: call 21; the trap; mov [rsp], rax; ret
	"e8eaffffff" + // at 26: call 9
	"75e6" + // at 31: jne 7
	"4883c408" + "5b" + "415c" + // at 33: add rsp, 8; pop rbx; pop r12
	"e807000000" + "f3900faee8ebf9" + "488d642408c3" // at 40: call 52; the trap; lea rsp, [rsp+8]; ret

func TestInlineRetpolinesAreReturnsAndJumps(t *testing.T) {
	code, err := encodinghex.DecodeString(retpolines)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{
		Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: oneFunc{base, base + uint64(len(code))},
	})
	for off, cfa := range map[uint64]int32{
		2: 16, 3: 24, 7: 32, 26: 32, 31: 32, 33: 32, 37: 24, 38: 16, 40: 8, 52: 16, 57: 8,
	} {
		want(t, s, off, frames.X86RSP, cfa, frames.MethodHeuristic)
	}
	r, _, ok := s.Rule(frames.Query{PC: base + 31, AfterCall: true, SPOnly: true})
	if !ok || r.CFAOff != 32 {
		t.Errorf("behind the call: %+v, %v", r, ok)
	}
}
