// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

const (
	opPopRBP = 0x5d
	opPopRDX = 0x5a
	opRet    = 0xc3
	opLeave  = 0xc9
	opJump   = 0xe9
)

var pollLong = []byte{0x49, 0x3b, 0xa7} // cmp rsp, [r15+disp32], in MacroAssembler::safepoint_poll, since JDK 16

const maxStubCode = 20 // bytes

// jneOverReturn precedes the jump to the exception stub (SharedRuntime::generate_native_wrapper).
var jneOverReturn = []byte{0x0f, 0x85, 1, 0, 0, 0, opRet}

func jumpsToExceptionStub(before, code []byte, left uint64) bool {
	if !bytes.HasSuffix(before, jneOverReturn) || len(code) < 5 || code[0] != opJump {
		return false
	}
	to := int64(int32At(code[1:])) + 5
	return to < 0 || to >= int64(left)
}

// ruleInMethodsExceptionStub is for C2's exception stub (x86_64.ad, tailjmpInd): pop rbp; pop rdx; jmp reg. before are
// at least two bytes before code.
func ruleInMethodsExceptionStub(before, code []byte) (frames.Rule, *frames.Row, bool) {
	previous, last := before[len(before)-2], before[len(before)-1]
	switch {
	case len(code) > 2 && code[0] == opPopRBP && code[1] == opPopRDX && jumpsByAnyReg(code[2:]):
		return frameRule(16), nil, true
	case len(code) > 1 && last == opPopRBP && code[0] == opPopRDX && jumpsByAnyReg(code[1:]):
		return framelessRule()
	case previous == opPopRBP && last == opPopRDX && jumpsByAnyReg(code):
		return ruleRAInReg(frames.X86RDX, frames.X86RSP, 0)
	}
	return frames.Rule{}, nil, false
}

func jumpsByAnyReg(code []byte) bool {
	return jumpsByReg(code) || len(code) > 2 && code[0] == rexB && jumpsByReg(code[1:])
}

func jumpsByReg(code []byte) bool { return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0 }
