// SPDX-License-Identifier: Apache-2.0

package hotspot

import "bytes"

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
	subByte   = []byte{opPush | 5, 0x48, 0x83, 0xec}
	subWord   = []byte{opPush | 5, 0x48, 0x81, 0xec}
	keepByte  = []byte{0x48, 0x89, 0x6c, 0x24} // mov [rsp+disp8], rbp
	keepWord  = []byte{0x48, 0x89, 0xac, 0x24} // mov [rsp+disp32], rbp
)

const (
	stackBangBytes = 7
	subBytes       = 7 // sub rsp, imm32
)

type frameState uint8

const (
	frameOpen frameState = iota
	frameNone
	framePushed
	frameBare // all but rbp is stored
)

type osrCode struct {
	code  []byte
	frame int32
}

func osrFrameState(code []byte, pc int, frame int32) frameState {
	c := osrCode{code, frame}
	switch {
	case c.pushesRBP(pc - 1):
		return framePushed
	case c.storesRBPLater(pc):
		return frameNone
	case c.storesRBPLater(pc - subBytes):
		return frameBare
	}
	for c.touchesStack(pc) {
		pc += stackBangBytes
	}
	if c.pushesRBP(pc) {
		return frameNone
	}
	return frameOpen
}

func (c osrCode) touchesStack(off int) bool {
	end := off + stackBangBytes
	return off >= 0 && end <= len(c.code) && bytes.HasPrefix(c.code[off:], stackBang) && c.code[end-1] == 0xff
}

func (c osrCode) pushesRBP(off int) bool {
	return c.touchesStack(off-stackBangBytes) && off < len(c.code) &&
		(bytes.HasPrefix(c.code[off:], subByte) || bytes.HasPrefix(c.code[off:], subWord))
}

func (c osrCode) storesRBPLater(off int) bool {
	if off < 0 || off+subBytes+len(keepWord)+4 > len(c.code) || !bytes.HasPrefix(c.code[off:], subWord[1:]) ||
		int32At(c.code[off+len(subWord)-1:]) != c.frame-8 {
		return false
	}
	store := c.code[off+subBytes:]
	return bytes.HasPrefix(store, keepByte) && int32(int8(store[len(keepByte)])) == c.frame-16 ||
		bytes.HasPrefix(store, keepWord) && int32At(store[len(keepWord):]) == c.frame-16
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
	opPush = 0x50 // | register
	opPop  = 0x58
	rexB   = 0x41 // r8 to r15
)
