// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"

	"prywalk/frames"
	"prywalk/internal/code/x86"
)

// # Interpreter frames removed by a return
//
// removalBytes bounds the distance from a leave to pc, bytes.
const removalBytes = 48

// frameRemoval is a place in code that removes an interpreter frame. The caller's sp is in rbx or r11
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
	// Bytes from the leave to pc, to the pop, and to the mov that sets sp.
	since, pops, moves int
	raReg, sender      uint8 // return address and caller's sp, DWARF numbers
}

// lastRemoval returns the removal with pc, which is at removalBytes in code. found without whole: pc is near a leave
// and a pop.
func lastRemoval(code []byte) frameRemoval {
	found := false
	for i := removalBytes - 1; i >= 0; i-- {
		if code[i] != opLeave {
			continue
		}
		removal, popped := parseRemoval(code[i+1:], removalBytes-i-1)
		if removal.whole {
			return removal
		}
		found = found || popped && removal.since <= removal.pops+shortLeave
	}
	return frameRemoval{found: found}
}

// At this distance a leave and a pop suffice.
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

type removalParser struct {
	code     []byte
	off      int
	since    int  // bytes from the leave to pc
	boundary bool // pc is at an instruction
}

// parseRemoval parses code, which begins after the leave; since is the bytes from there to pc. popped: the sequence has
// a pop, and pc is not after its end.
func parseRemoval(code []byte, since int) (removal frameRemoval, popped bool) {
	p := removalParser{code: code, since: since, boundary: since == 0}
	if !p.parseClear() {
		return removal, false
	}
	removal = frameRemoval{found: true, since: since, pops: p.off}
	ra, ok := p.parsePop()
	if !ok {
		return removal, false
	}
	removal.raReg, removal.moves = x86.DWARF[ra], p.off
	if removal.sender, ok = p.parseMove(); !ok {
		return removal, true
	}
	if p.has(alignsSP) {
		removal.moves, removal.whole = len(code), p.endsInReplacement(ra)
		return removal, true
	}
	if !p.parsePoll() {
		return removal, true
	}
	jumps := p.endsInJump(ra)
	removal.whole = jumps && p.boundary
	return removal, !jumps || since <= p.off
}

func (p *removalParser) pass(n int) bool {
	p.off += n
	p.boundary = p.boundary || p.off == p.since
	return p.off < len(p.code)
}

func (p *removalParser) has(prefix []byte) bool { return bytes.HasPrefix(p.code[p.off:], prefix) }

func (p *removalParser) parseClear() bool { return !p.has(clearsByte) || p.pass(8) }

func (p *removalParser) parsePop() (reg uint8, ok bool) {
	size, extended := 1, uint8(0)
	if p.code[p.off] == rexB && p.off+1 < len(p.code) {
		size, extended = 2, 8
	}
	op := p.code[p.off+size-1]
	return op&7 | extended, op&^7 == opPop && p.pass(size)
}

func (p *removalParser) parseMove() (sender uint8, ok bool) {
	for i := range senders {
		if p.has(senders[i].mov) {
			return senders[i].reg, p.pass(len(senders[i].mov))
		}
	}
	return 0, false
}

func (p *removalParser) parsePoll() bool {
	return !p.has(pollLong) ||
		p.pass(7) && p.has(shortBelow) && p.pass(2) && p.has(clearsWord) && p.pass(11)
}

// endsInReplacement reports whether on-stack replacement follows, with pc at one of its instructions.
func (p *removalParser) endsInReplacement(ra uint8) bool {
	return p.pass(len(alignsSP)) && ra < 8 && p.code[p.off] == opPush|ra && p.pass(1) && p.boundary &&
		p.code[p.off] == 0xff
}

func (p *removalParser) endsInJump(ra uint8) bool {
	jump := p.code[p.off:]
	if ra >= 8 {
		if jump[0] != rexB {
			return false
		}
		jump = jump[1:]
	}
	return len(jump) > 1 && jump[0] == 0xff && jump[1] == 0xe0|ra&7
}

// # Interpreter frames removed by an exception
//
// The return address is in rdx (TemplateInterpreterGenerator::generate_throw_exception):
//
//	leave; pop rdx; mov rsp, sender; ...; mov rax, [r15+disp32]; ...; push rax; push rdx; mov rsi, rdx; mov rdi, r15;
//	...; call; ...; mov rbx, rax; pop rdx; pop rax; jmp rbx

const throwBytes = 128

var (
	throwsBegin = []byte{opLeave, 0x5a}                             // and mov rsp, sender
	throwsLoad  = []byte{0x49, 0x8b, 0x87}                          // mov rax, [r15+disp32]
	throwsPush  = []byte{opPush, opPush | 2, 0x48, 0x8b, 0xf2}      // rax, rdx; mov rsi, rdx
	throwsEnd   = []byte{0x48, 0x8b, 0xd8, 0x5a, opPop, 0xff, 0xe3} // mov rbx, rax; pop; pop; jmp rbx
	jumpsRBX    = throwsEnd[len(throwsEnd)-2:]
	aligns      = []byte{0x48, 0x83, 0xec, 8} // sub rsp, 8: alignment for the call
	alignsBack  = []byte{0x48, 0x83, 0xc4, 8}
)

type exceptionState struct {
	sender uint8 // caller's sp at the pop and the mov
	words  int   // pushed since; −1: unknown
	stored bool  // in memory: at sp before the pop, later the second word below the CFA
}

// exceptionRemoval finds the removal by an exception around pc, an offset in code; false: pc is in none.
func exceptionRemoval(code []byte, pc int) (t exceptionState, ended bool) {
	begin := bytes.LastIndex(code[:min(pc+len(throwsBegin)-1, len(code))], throwsBegin)
	if begin < 0 {
		return t, false
	}
	mov := begin + len(throwsBegin)
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

// exceptionStateAt returns the state at off in body, the code between the move of sp and throwsEnd; push is the first
// push's offset.
func exceptionStateAt(body []byte, push, off int) exceptionState {
	end := len(body) + len(throwsEnd) - len(jumpsRBX)
	switch {
	case off <= push || off == end:
		return exceptionState{}
	case off == push+1 || off == end-1:
		return exceptionState{words: 1}
	}
	rest := body[push:]
	down, up := bytes.Index(rest, aligns), bytes.Index(rest, alignsBack)
	switch {
	case bytes.Contains(rest, alignsSP) || (down < 0) != (up < 0) || up < down:
		return exceptionState{words: -1}
	case down >= 0 && off-push >= down+len(aligns) && off-push <= up:
		return exceptionState{words: 3, stored: true}
	}
	return exceptionState{words: 2, stored: true}
}
