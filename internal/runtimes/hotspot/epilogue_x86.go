// SPDX-License-Identifier: Apache-2.0

package hotspot

import "bytes"

type epilogue uint8

const (
	epilogueNone     epilogue = iota
	epiloguePopRBP            // before pop rbp
	epilogueAfterPop          // after it
)

const maxEpilogue = 20

const (
	opPopRBP = 0x5d
	opRet    = 0xc3
	opLeave  = 0xc9
	opJump   = 0xe9
)

// In MacroAssembler::safepoint_poll, since JDK 16: cmp rsp, [r15+disp]; ja rel32. Exception check: cmp qword
// [r15+disp8], imm8 (imm32 in JDK 8); jne rel32.
var (
	pollShort            = []byte{0x49, 0x3b, 0x67}
	pollLong             = []byte{0x49, 0x3b, 0xa7}
	pendingException     = []byte{0x49, 0x83, 0x7f}
	pendingExceptionLong = []byte{0x49, 0x81, 0x7f}
	jumpAbove            = []byte{0x0f, 0x87}
	jumpNotEqual         = []byte{0x0f, 0x85}
)

// epilogueOf recognizes [pop rbp], [check], ret; or pop rbp and a jump out. left is the bytes to the method's end.
func epilogueOf(code []byte, before byte, left uint64) epilogue {
	place := epilogueAfterPop
	if code[0] == opPopRBP {
		place, before, code, left = epiloguePopRBP, opPopRBP, code[1:], left-1
	}
	if before == opPopRBP && jumpsByReg(code) {
		return place
	}
	code = afterCheck(code)
	switch {
	case len(code) > 0 && code[0] == opRet:
		return place
	case len(code) > 4 && code[0] == opJump && before == opPopRBP:
		if to := int64(int32At(code[1:])) + 5; to >= int64(left) || to < 0 && -to > int64(maxMethod) {
			return place
		}
	}
	return epilogueNone
}

// afterCheck returns the code after a check before a return; code may begin at the check's jump.
func afterCheck(code []byte) []byte {
	switch {
	case bytes.HasPrefix(code, pollShort) && len(code) > 4:
		code = code[4:]
	case bytes.HasPrefix(code, pollLong) && len(code) > 7:
		code = code[7:]
	case bytes.HasPrefix(code, pendingException) && len(code) > 5:
		code = code[5:]
	case bytes.HasPrefix(code, pendingExceptionLong) && len(code) > 8:
		code = code[8:]
	}
	if (bytes.HasPrefix(code, jumpAbove) || bytes.HasPrefix(code, jumpNotEqual)) && len(code) > 6 {
		code = code[6:]
	}
	return code
}

// jneOverReturn precedes the jump to the exception stub (SharedRuntime::generate_native_wrapper).
var jneOverReturn = []byte{0x0f, 0x85, 1, 0, 0, 0, opRet}

func jumpsToExceptionStub(before, code []byte, left uint64) bool {
	if !bytes.HasSuffix(before, jneOverReturn) || len(code) < 5 || code[0] != opJump {
		return false
	}
	to := int64(int32At(code[1:])) + 5
	return to < 0 || to >= int64(left)
}

// C2's exception stub (x86_64.ad, tailjmpInd): pop rbp; pop rdx; jmp reg.
const opPopRDX = 0x5a

// inExceptionStub returns where in that stub code is; before are at least two bytes before it. raInRDX: the return
// address is in rdx.
func inExceptionStub(before, code []byte) (place epilogue, raInRDX bool) {
	previous, last := before[len(before)-2], before[len(before)-1]
	switch {
	case len(code) > 2 && code[0] == opPopRBP && code[1] == opPopRDX && jumpsByAnyReg(code[2:]):
		return epiloguePopRBP, false
	case len(code) > 1 && last == opPopRBP && code[0] == opPopRDX && jumpsByAnyReg(code[1:]):
		return epilogueAfterPop, false
	case previous == opPopRBP && last == opPopRDX && jumpsByAnyReg(code):
		return epilogueAfterPop, true
	}
	return epilogueNone, false
}

func jumpsByAnyReg(code []byte) bool {
	return jumpsByReg(code) || len(code) > 2 && code[0] == rexB && jumpsByReg(code[1:])
}

func jumpsByReg(code []byte) bool { return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0 }

const maxMethod = 1 << 20 // bytes
