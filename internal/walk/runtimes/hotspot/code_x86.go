// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"

	"prywalk/frames"
)

// In generate_fixed_frame: push rbp; mov rbp, rsp; push r13 (caller's sp).
var interpreterPrologue = []byte{0x55, 0x48, 0x8b, 0xec, 0x41, 0x55}

const maxEntry = 4096

var movRBX = []byte{0x48, 0xbb}

// # On-stack replacement
//
// A loop's compiled code has a second entry: mov [rsp-disp32], eax per page; push rbp; sub rsp. In C2 without calls:
// sub rsp; mov [rsp+disp], rbp.
//
// aroundBytes bounds these sequences, and the pieces after a method.
const aroundBytes = 32

var (
	stackBang = []byte{0x89, 0x84, 0x24}
	subWord   = []byte{0x48, 0x81, 0xec}       // sub rsp, imm32
	keepByte  = []byte{0x48, 0x89, 0x6c, 0x24} // mov [rsp+disp8], rbp
	keepWord  = []byte{0x48, 0x89, 0xac, 0x24} // mov [rsp+disp32], rbp
)

// beginsOSREntry reports whether code begins an entry of a method whose frame has that many bytes.
func beginsOSREntry(code []byte, frame int32) bool {
	if bytes.HasPrefix(code, stackBang) {
		return len(code) > 6 && code[6] == 0xff
	}
	if !bytes.HasPrefix(code, subWord) || len(code) < 15 || int32At(code[3:]) != frame-8 {
		return false
	}
	store := code[7:]
	return bytes.HasPrefix(store, keepByte) && int32(int8(store[4])) == frame-16 ||
		bytes.HasPrefix(store, keepWord) && int32At(store[4:]) == frame-16
}

// # Pieces after a method
//
// A return that must stop at a safepoint jumps to a piece after the method, without a frame:
//
//	mov r10, poll; mov [r15+disp32], r10; jmp       poll: an address in the method
//
// Frames to be deoptimized return to a piece that pushes its own address (C1; C2):
//
//	mov r10, here; push r10; jmp
//	call +0; sub qword [rsp], 5; jmp

var (
	movR10    = []byte{0x49, 0xba}       // mov r10, imm64
	storesR10 = []byte{0x4d, 0x89, 0x97} // mov [r15+disp32], r10
	pushesR10 = []byte{0x41, opPush | 2, opJump}
	callsNext = []byte{opCall, 0, 0, 0, 0, 0x48, 0x83, 0x2c, 0x24, 5, opJump}
)

const (
	movBytes   = 10 // mov r10, imm64
	storeBytes = 7
)

func movedAt(code []byte, off int) (imm uint64, rest []byte, ok bool) {
	if off < 0 || off+movBytes > len(code) || !bytes.HasPrefix(code[off:], movR10) {
		return 0, nil, false
	}
	return wordAt(code[off+len(movR10):]), code[off+movBytes:], true
}

func inPollPiece(code []byte, pc int, b *blob) bool {
	for _, since := range [...]int{0, movBytes, movBytes + storeBytes} {
		poll, rest, ok := movedAt(code, pc-since)
		if ok && poll > b.begin && poll < b.end && bytes.HasPrefix(rest, storesR10) && len(rest) > storeBytes &&
			rest[storeBytes] == opJump {
			return true
		}
	}
	return false
}

func inDeoptPiece(code []byte, pc int, addr uint64) bool {
	const pushes = movBytes + 2
	if here, rest, ok := movedAt(code, pc-pushes); ok && here == addr-pushes && bytes.HasPrefix(rest, pushesR10) {
		return true
	}
	for _, since := range [...]int{5, len(callsNext) - 1} {
		if off := pc - since; off >= 0 && off < len(code) && bytes.HasPrefix(code[off:], callsNext) {
			return true
		}
	}
	return false
}

// jneOverReturn precedes the jump to the exception stub (SharedRuntime::generate_native_wrapper).
var jneOverReturn = []byte{0x0f, 0x85, 1, 0, 0, 0, opRet}

// jumpsToExceptionStub: around begins aroundBytes before pc, and the method's code ends left bytes after pc.
func jumpsToExceptionStub(around []byte, left uint64) bool {
	code := around[aroundBytes:]
	if !bytes.HasSuffix(around[:aroundBytes], jneOverReturn) || len(code) < 5 || code[0] != opJump {
		return false
	}
	to := int64(int32At(code[1:])) + 5
	return to < 0 || to >= int64(left)
}

var popsRBPAndRDX = []byte{opPopRBP, opPop | 2}

// ruleInMethodsExceptionStub is for C2's exception stub (x86_64.ad, tailjmpInd): pop rbp; pop rdx; jmp reg.
func ruleInMethodsExceptionStub(around []byte) (frames.Rule, *frames.Row, bool) {
	for popped := range 3 {
		code := around[aroundBytes-popped:]
		if !bytes.HasPrefix(code, popsRBPAndRDX) || !jumpsByAnyReg(code[2:]) {
			continue
		}
		switch popped {
		case 0:
			return frameRule(16), nil, true
		case 1:
			return framelessRule()
		}
		return ruleRAInReg(frames.X86RDX, frames.X86RSP, 0)
	}
	return frames.Rule{}, nil, false
}

func jumpsByAnyReg(code []byte) bool {
	code = bytes.TrimPrefix(code, []byte{rexB})
	return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0
}

// Begin and end of OptoRuntime::generate_exception_blob.
var (
	exceptionBegins = []byte{0x52, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0x2c, 0x24}
	exceptionEnds   = []byte{0x48, 0x8b, 0x2c, 0x24, 0x48, 0x83, 0xc4, 8, 0x5a}
)

// In MacroAssembler::popa: mov r15, [rsp], down to mov rax, [rsp + 0x78]; add rsp, 0x80.
var (
	restoresAll = []byte{0x4c, 0x8b, 0x3c, 0x24, 0x4c, 0x8b, 0x74, 0x24, 8}
	restoredAll = []byte{0x48, 0x8b, 0x44, 0x24, 0x78, 0x48, 0x81, 0xc4, 0x80, 0, 0, 0}
)

// In StubGenerator::generate_forward_exception, frameless: add rsp, 8; jmp; call; ...; pop rdx; jmp rbx.
var (
	forwardsAligned = []byte{0x48, 0x83, 0xc4, 8, opJump, 5, 0, 0, 0, opCall}
	forwards        = []byte{0x48, 0x8b, 0xd8} // mov rbx, rax
	forwardsEnds    = []byte{0x5a, 0xff, 0xe3}
)

const (
	opCall     = 0xe8
	maxForward = 24 // bytes
)

const maxRestores = 96 // bytes

const (
	opPush   = 0x50 // | register
	opPop    = 0x58
	opPopRBP = 0x5d
	opRet    = 0xc3
	opLeave  = 0xc9
	opJump   = 0xe9
	rexB     = 0x41 // r8 to r15
)
