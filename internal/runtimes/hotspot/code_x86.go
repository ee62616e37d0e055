// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"

	"prywalk/frames"
)

// epilogue is where in a method's epilogue a pc is.
type epilogue uint8

const (
	epilogueNone     epilogue = iota
	epiloguePopRBP            // before pop rbp
	epilogueAfterPop          // after it
)

// maxEpilogue bounds these sequences, in bytes.
const maxEpilogue = 20

const (
	opPopRBP = 0x5d
	opRet    = 0xc3
	opLeave  = 0xc9
	opJump   = 0xe9
)

// Safepoint poll (MacroAssembler::safepoint_poll, since JDK 16): cmp rsp, [r15+disp]; ja rel32. Exception check: cmp
// qword [r15+disp8], imm8 (imm32 in JDK 8); jne rel32.
var (
	pollShort            = []byte{0x49, 0x3b, 0x67}
	pollLong             = []byte{0x49, 0x3b, 0xa7}
	pendingException     = []byte{0x49, 0x83, 0x7f}
	pendingExceptionLong = []byte{0x49, 0x81, 0x7f}
	jumpAbove            = []byte{0x0f, 0x87}
	jumpNotEqual         = []byte{0x0f, 0x85}
)

// epilogueOf recognizes a method's end: [pop rbp], [check], ret; or pop rbp and a jump out. before is the byte before
// code, left the bytes to the method's end.
func epilogueOf(code []byte, before byte, left uint64) epilogue {
	at := epilogueAfterPop
	if before == opPopRBP && jumpsByReg(code) || code[0] == opPopRBP && jumpsByReg(code[1:]) {
		return map[bool]epilogue{true: epiloguePopRBP, false: epilogueAfterPop}[code[0] == opPopRBP]
	}
	if code[0] == opPopRBP {
		at, before, code, left = epiloguePopRBP, opPopRBP, code[1:], left-1
	}
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
	switch {
	case len(code) > 0 && code[0] == opRet:
		return at
	case len(code) > 4 && code[0] == opJump && before == opPopRBP:
		if to := int64(int32At(code[1:])) + 5; to >= int64(left) || to < 0 && -to > int64(maxMethod) {
			return at
		}
	}
	return epilogueNone
}

// jneOverReturn precedes the jump to the exception stub in SharedRuntime::generate_native_wrapper: jne over ret.
var jneOverReturn = []byte{0x0f, 0x85, 1, 0, 0, 0, opRet}

func jumpsToExceptionStub(before, code []byte, left uint64) bool {
	if !bytes.HasSuffix(before, jneOverReturn) || len(code) < 5 || code[0] != opJump {
		return false
	}
	to := int64(int32At(code[1:])) + 5
	return to < 0 || to >= int64(left)
}

// opPopRDX is in C2's exception stub, with the return address in rdx (x86_64.ad, tailjmpInd): pop rbp; pop rdx; jmp
// reg.
const opPopRDX = 0x5a

func inExceptionStub(before, code []byte) (at epilogue, inRDX bool) {
	last2 := len(before) - 2
	switch {
	case len(code) > 2 && code[0] == opPopRBP && code[1] == opPopRDX && jumpsByAnyReg(code[2:]):
		return epiloguePopRBP, false
	case len(code) > 1 && before[last2+1] == opPopRBP && code[0] == opPopRDX && jumpsByAnyReg(code[1:]):
		return epilogueAfterPop, false
	case before[last2] == opPopRBP && before[last2+1] == opPopRDX && jumpsByAnyReg(code):
		return epilogueAfterPop, true
	}
	return epilogueNone, false
}

func jumpsByAnyReg(code []byte) bool {
	return jumpsByReg(code) || len(code) > 2 && code[0] == rexB && jumpsByReg(code[1:])
}

func jumpsByReg(code []byte) bool { return len(code) > 1 && code[0] == 0xff && code[1]&^7 == 0xe0 }

const maxMethod = 1 << 20

// interpreterPrologue makes the interpreter's frame (generate_fixed_frame): push rbp; mov rbp, rsp; push r13 (the
// caller's sp).
var interpreterPrologue = []byte{0x55, 0x48, 0x8b, 0xec, 0x41, 0x55}

// popRAXLeaR14 precedes it (generate_normal_entry, generate_native_entry): pop rax; lea r14, [rsp + …].
var popRAXLeaR14 = []byte{0x58, 0x4c, 0x8d, 0x74}

const (
	opPushRAX = 0x50
	opPopRAX  = 0x58
)

// maxEntry bounds the search for these, in bytes.
const maxEntry = 4096

// intrinsicEnd ends an intrinsic after the return address is popped (generate_math_entry, generate_CRC32_update_entry):
// mov rsp, r13; jmp reg.
var intrinsicEnd = []byte{0x49, 0x8b, 0xe5}

func isIntrinsicEnd(code []byte) bool {
	return bytes.HasPrefix(code, intrinsicEnd) && jumpsByReg(code[len(intrinsicEnd):])
}

var movRBX = []byte{0x48, 0xbb}

// removalBytes is the most from a leave to pc, in bytes.
const removalBytes = 48

// frameRemoval is the removal of an interpreter frame. The caller's sp is in rbx or r11
// (InterpreterMacroAssembler::remove_activation, TemplateInterpreterGenerator::generate_native_entry):
//
//	leave
//	mov byte [r15+disp32], imm8                       since JDK 25
//	pop reg
//	mov rsp, sender
//	cmp rsp, [r15+disp32]; jb +11; mov qword [r15+disp32], imm32        since JDK 21
//	jmp reg
//
// Or on-stack replacement, with the caller's sp in rdx (TemplateTable::branch):
//
//	leave; ...; pop reg; mov rsp, rdx; and rsp, -16; push reg; jmp [rbx+disp]
type frameRemoval struct {
	found bool
	whole bool // pc is in a complete sequence, after the leave
	// Bytes from the leave to pc, to the pop, and to a mov that sets sp.
	since, pops, moves int
	reg, sender        uint8 // DWARF numbers
}

func lastRemoval(code []byte) frameRemoval {
	found := false
	for i := removalBytes - 1; i >= 0; i-- {
		if code[i] != opLeave {
			continue
		}
		l, popped := parseRemoval(code[i+1:], removalBytes-i-1)
		if l.whole {
			return l
		}
		found = found || popped && l.since <= l.pops+shortLeave
	}
	return frameRemoval{found: found}
}

// shortLeave is the distance at which a leave and a pop suffice.
const shortLeave = 10

var (
	clearsByte = []byte{0x41, 0xc6, 0x87}       // mov byte [r15+disp32], imm8
	clearsWord = []byte{0x49, 0xc7, 0x87}       // mov qword [r15+disp32], imm32
	shortBelow = []byte{0x72, 11}               // jb over that
	alignsSP   = []byte{0x48, 0x83, 0xe4, 0xf0} // and rsp, -16
	senders    = []sender{
		{[]byte{0x48, 0x8b, 0xe3}, frames.X86RBX}, // mov rsp, rbx
		{[]byte{0x49, 0x8b, 0xe3}, regR11},
		{[]byte{0x48, 0x8b, 0xe2}, frames.X86RDX},
	}
)

type sender struct {
	mov []byte
	reg uint8
}

// removalCode is a place in the code after a leave.
type removalCode struct {
	code     []byte
	at       int
	since    int  // bytes from the leave to pc
	boundary bool // pc is at the start of an instruction that was passed, or of this one
}

// skip passes an instruction of n bytes. It returns false at the end of the code.
func (c *removalCode) skip(n int) bool {
	c.at += n
	c.boundary = c.boundary || c.at == c.since
	return c.at < len(c.code)
}

func (c *removalCode) has(prefix []byte) bool { return bytes.HasPrefix(c.code[c.at:], prefix) }

// skipPoll passes a safepoint poll, if there is one. It returns false if that is incomplete.
func (c *removalCode) skipPoll() bool {
	return !c.has(pollLong) ||
		c.skip(7) && c.has(shortBelow) && c.skip(2) && c.has(clearsWord) && c.skip(11)
}

// parseRemoval parses the code after a leave; since is the bytes from there to pc.
func parseRemoval(code []byte, since int) (l frameRemoval, popped bool) {
	c := removalCode{code: code, since: since, boundary: since == 0}
	if c.has(clearsByte) && !c.skip(8) {
		return l, false
	}
	l = frameRemoval{found: true, since: since, pops: c.at}
	size, more := 1, uint8(0)
	if code[c.at] == rexB && c.at+1 < len(code) {
		size, more = 2, 8
	}
	pop := code[c.at+size-1]
	if pop&^7 != opPop || !c.skip(size) {
		return l, false
	}
	r := pop&7 + more
	l.reg, l.moves = dwarfNumbers[r], c.at
	for i := range senders {
		if c.has(senders[i].mov) {
			l.sender = senders[i].reg
		}
	}
	if l.sender == 0 || !c.skip(3) {
		return l, true
	}
	if c.has(alignsSP) {
		l.moves = len(code)
		l.whole = c.skip(4) && code[c.at] == opPush|r && more == 0 && c.skip(1) && c.boundary && code[c.at] == 0xff
		return l, true
	}
	if !c.skipPoll() {
		return l, true
	}
	rest := code[c.at:]
	if more != 0 {
		if rest[0] != rexB {
			return l, true
		}
		rest = rest[1:]
	}
	jumps := len(rest) > 1 && rest[0] == 0xff && rest[1] == 0xe0|r&7
	l.whole = c.boundary && jumps
	return l, !jumps || since <= c.at
}

// # On-stack replacement
//
// The interpreter can enter a loop's compiled code by a second entry, which makes the frame: mov [rsp-disp32], eax per
// page needed; push rbp; sub rsp. In a C2 loop without calls: sub rsp; mov [rsp+disp], rbp.

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

// osrFrameState gives the state at pc, an offset in code; frame is in bytes.
func osrFrameState(code []byte, pc int, frame int32) frameState {
	touch := func(at int) bool {
		end := at + stackBangBytes
		return at >= 0 && end <= len(code) && bytes.HasPrefix(code[at:], stackBang) && code[end-1] == 0xff
	}
	push := func(at int) bool {
		return touch(at-stackBangBytes) && at < len(code) &&
			(bytes.HasPrefix(code[at:], subByte) || bytes.HasPrefix(code[at:], subWord))
	}
	bare := func(at int) bool {
		if at < 0 || at+subBytes+len(keepWord)+4 > len(code) || !bytes.HasPrefix(code[at:], subWord[1:]) ||
			int32At(code[at+len(subWord)-1:]) != frame-8 {
			return false
		}
		keep := code[at+subBytes:]
		return bytes.HasPrefix(keep, keepByte) && int32(int8(keep[len(keepByte)])) == frame-16 ||
			bytes.HasPrefix(keep, keepWord) && int32At(keep[len(keepWord):]) == frame-16
	}
	switch {
	case push(pc - 1):
		return framePushed
	case bare(pc):
		return frameNone
	case bare(pc - subBytes):
		return frameBare
	}
	for touch(pc) {
		pc += stackBangBytes
	}
	if push(pc) {
		return frameNone
	}
	return frameOpen
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

func movedAt(code []byte, at int) (imm uint64, rest []byte, ok bool) {
	if at < 0 || at+movBytes > len(code) || !bytes.HasPrefix(code[at:], movR10) {
		return 0, nil, false
	}
	return wordAt(code[at+len(movR10):]), code[at+movBytes:], true
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

// inDeoptPiece reports whether pc, at addr, is in a deoptimization piece after its push.
func inDeoptPiece(code []byte, pc int, addr uint64) bool {
	const pushes = movBytes + 2
	if here, rest, ok := movedAt(code, pc-pushes); ok && here == addr-pushes && bytes.HasPrefix(rest, pushesR10) {
		return true
	}
	for _, since := range [...]int{5, len(callsNext) - 1} {
		if at := pc - since; at >= 0 && at < len(code) && bytes.HasPrefix(code[at:], callsNext) {
			return true
		}
	}
	return false
}

// # Interpreter frames removed by an exception
//
// The interpreter removes the frame, with the return address in rdx, and queries the caller's handler
// (TemplateInterpreterGenerator::generate_throw_exception):
//
//	leave; pop rdx; mov rsp, sender; ...; mov rax, [r15+disp32]; ...; push rax; push rdx; mov rsi, rdx; mov rdi, r15;
//	...; call; ...; mov rbx, rax; pop rdx; pop rax; jmp rbx

const throwBytes = 128

var (
	throwsBegin = []byte{opLeave, 0x5a}                                // and mov rsp, sender
	throwsLoad  = []byte{0x49, 0x8b, 0x87}                             // mov rax, [r15+disp32]
	throwsPush  = []byte{opPush, opPush | 2, 0x48, 0x8b, 0xf2}         // rax, rdx; mov rsi, rdx
	throwsEnd   = []byte{0x48, 0x8b, 0xd8, 0x5a, opPopRAX, 0xff, 0xe3} // mov rbx, rax; pop; pop; jmp rbx
	jumpsRBX    = throwsEnd[len(throwsEnd)-2:]
	aligns      = []byte{0x48, 0x83, 0xec, 8} // sub rsp, 8: alignment for the call
	alignsBack  = []byte{0x48, 0x83, 0xc4, 8}
)

type exceptionState struct {
	sender uint8 // has the caller's sp, at the pop and the mov
	words  int   // pushed since; −1: unknown
	stored bool  // return address in memory: at sp before the pop, later the second word below the CFA
}

// exceptionRemoval gives the state at pc, an offset in code; ended: pc is in the removal.
func exceptionRemoval(code []byte, pc int) (t exceptionState, ended bool) {
	from := bytes.LastIndex(code[:min(pc, len(code))], throwsBegin[:1])
	for from >= 0 && !bytes.HasPrefix(code[from:], throwsBegin) {
		from = bytes.LastIndex(code[:from], throwsBegin[:1])
	}
	if from < 0 {
		return t, false
	}
	mov := from + len(throwsBegin)
	i := slices.IndexFunc(senders[:2], func(s sender) bool { return bytes.HasPrefix(code[mov:], s.mov) })
	if i < 0 {
		return t, false
	}
	moved := mov + len(senders[i].mov)
	to := bytes.Index(code[moved:], throwsEnd)
	if to < 0 || pc > moved+to+len(throwsEnd)-len(jumpsRBX) || pc > mov && pc < moved {
		return t, false
	}
	body := code[moved : moved+to]
	push := bytes.Index(body, throwsPush)
	if load := bytes.Index(body, throwsLoad); load < 0 || push < load {
		return t, false
	}
	if pc <= mov {
		return exceptionState{sender: senders[i].reg, stored: pc < mov}, true
	}
	return exceptionStateAt(body, push, pc-moved), true
}

// exceptionStateAt gives the state at an offset after the mov; push is the first push's offset.
func exceptionStateAt(body []byte, push, at int) exceptionState {
	end := len(body) + len(throwsEnd) - len(jumpsRBX)
	switch {
	case at <= push || at == end:
		return exceptionState{}
	case at == push+1 || at == end-1:
		return exceptionState{words: 1}
	}
	rest := body[push:]
	down, up := bytes.Index(rest, aligns), bytes.Index(rest, alignsBack)
	switch {
	case bytes.Contains(rest, alignsSP) || (down < 0) != (up < 0) || up < down:
		return exceptionState{words: -1}
	case down >= 0 && at-push >= down+len(aligns) && at-push <= up:
		return exceptionState{words: 3, stored: true}
	}
	return exceptionState{words: 2, stored: true}
}

// dwarfNumbers maps hardware register numbers to DWARF (System V ABI, figure 3.36).
var dwarfNumbers = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// Begin and end of OptoRuntime::generate_exception_blob.
var (
	exceptionBegins = []byte{0x52, 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0x2c, 0x24}
	exceptionEnds   = []byte{0x48, 0x8b, 0x2c, 0x24, 0x48, 0x83, 0xc4, 8, 0x5a}
)

// restoresAll and its end (MacroAssembler::popa): mov r15, [rsp], down to mov rax, [rsp + 0x78]; add rsp, 0x80.
var (
	restoresAll = []byte{0x4c, 0x8b, 0x3c, 0x24, 0x4c, 0x8b, 0x74, 0x24, 8}
	restoredAll = []byte{0x48, 0x8b, 0x44, 0x24, 0x78, 0x48, 0x81, 0xc4, 0x80, 0, 0, 0}
)

// End of StubGenerator::generate_forward_exception, frameless: add rsp, 8; jmp; call; ...; pop rdx; jmp rbx.
var (
	forwardsAligned = []byte{0x48, 0x83, 0xc4, 8, opJump, 5, 0, 0, 0, opCall}
	forwards        = []byte{0x48, 0x8b, 0xd8} // mov rbx, rax
	forwardsEnds    = []byte{0x5a, 0xff, 0xe3}
)

const (
	opCall     = 0xe8
	maxForward = 24
)

// wordsPushed counts the words pushed for a stub call (LIR_Assembler::emit_typecheck_helper) by the pops after it. code
// begins after the call, or with push, call and pops.
func wordsPushed(code []byte) (words int32) {
	pop := func(op byte) int {
		if len(code) > 1 && code[0] == rexB && code[1]&^7 == op {
			return 2
		}
		if len(code) > 0 && code[0]&^7 == op && code[0] != opPopRBP {
			return 1
		}
		return 0
	}
	for n := pop(opPush); n > 0; n = pop(opPush) {
		words--
		code = code[n:]
	}
	if len(code) > 5 && code[0] == opCall {
		code = code[5:]
	} else if words != 0 {
		return 0
	}
	for n := pop(opPop); n > 0; n = pop(opPop) {
		words++
		code = code[n:]
	}
	return max(words, 0)
}

const maxRestores = 96

const (
	opPush = 0x50 // | register
	opPop  = 0x58
	rexB   = 0x41 // r8 to r15
)
