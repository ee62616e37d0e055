// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"math"

	"prywalk/frames"
)

// ruleInMethodARM64 returns the rule at an address of a compiled method.
func (v *VM) ruleInMethodARM64(p *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	if p.frameWords <= 0 || p.completeAt <= 0 || pc%insnBytes != 0 {
		return frames.Rule{}, nil, false
	}
	code := v.around(p.begin, p.end, pc)
	if code.inCallStub(pc) || code.leavesByPoll(p, pc) {
		return leaf, nil, true
	}
	if pc < p.completeFrom() {
		return v.ruleBeforeComplete(p, pc)
	}
	if rule, ok := code.duringPrologue(p, pc); ok { // on-stack replacement
		return rule, nil, true
	}
	size, gone := code.frameAt(p, pc)
	if gone || size > p.frameBytes()+maxPushed {
		return leaf, nil, gone
	}
	return framed(size), nil, true
}

// ruleAtReturnARM64 returns the rule at a return address in a compiled method or a stub.
func (v *VM) ruleAtReturnARM64(p *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	if p.frameWords <= 0 || pc%insnBytes != 0 {
		return frames.Rule{}, nil, false
	}
	code, frame := v.around(p.begin, p.end, pc), p.frameBytes()
	if p.stub {
		// As the JVM walks it. The return address may be pushed before a call of C (aarch64_enc_java_to_runtime).
		if w, _ := code.at(pc); w == popCrumb && frame > 2*wordBytes {
			return framed(frame + 2*wordBytes), nil, true
		}
		return framed(frame), nil, true
	}
	size, gone := code.frameAt(p, pc)
	if gone || size < frame || size > frame+maxPushed {
		size = frame
	}
	return framed(size), nil, true
}

func (v *VM) ruleBeforeComplete(p *blob, pc uint64) (frames.Rule, *frames.Row, bool) {
	code := window{p.begin, v.code(p.begin, p.completeFrom()-p.begin)}
	if rule, ok := code.duringPrologue(p, pc); ok {
		return rule, nil, true
	}
	for q := p.begin; q < p.completeFrom(); q += insnBytes {
		switch {
		case code.prologueAt(p, q) == noPrologue:
		case q < pc:
			return framed(p.frameBytes()), nil, true
		default:
			return leaf, nil, true
		}
	}
	return frames.Rule{}, nil, false
}

type prologue uint8

const (
	noPrologue     prologue = iota
	prologueAtOnce          // sub sp; stp
	prologueInTwo           // stp; [mov x29, sp;] sub sp
)

func (v window) prologueAt(p *blob, pc uint64) prologue {
	first, _ := v.at(pc)
	second, ok := v.at(pc + insnBytes)
	switch c, n := first.stack(); {
	case ok && c == lowers && n == p.frameBytes() && first.is(0xff8003ff, 0xd10003ff) &&
		second.is(pairMask, uint32(pairAtSP)) && 8*second.signed(15, 7) == p.frameBytes()-2*wordBytes:
		return prologueAtOnce
	case first != pushPair:
		return noPrologue
	case p.frameBytes() == 2*wordBytes:
		return prologueInTwo
	}
	for i := uint64(1); i <= 4; i++ { // mov x29, sp; movz, movk of a large size
		w, ok := v.at(pc + i*insnBytes)
		c, n := w.stack()
		switch {
		case !ok:
			return noPrologue
		case c == lowers && n+2*wordBytes == p.frameBytes(), w.is(0xffe0ffff, 0xcb2063ff):
			return prologueInTwo
		case c != level:
			return noPrologue
		}
	}
	return noPrologue
}

// touchesStack matches the instructions before a frame, one pair per page: sub x9, sp; str xzr, [x9].
func touchesStack(w insn) bool {
	return w.is(0xff8003ff, 0xd10003e9) || w == 0xf900013f || w == nop
}

func (v window) duringPrologue(p *blob, pc uint64) (rule frames.Rule, ok bool) {
	q := pc
	for range bytesBehind / insnBytes {
		if v.prologueAt(p, q) != noPrologue {
			return leaf, true
		}
		if w, ok := v.at(q); !ok || !touchesStack(w) {
			break
		}
		q += insnBytes
	}
	if v.prologueAt(p, pc-insnBytes) == prologueAtOnce {
		return afterSub(p.frameBytes()), true
	}
	for i := uint64(1); i <= 4; i++ {
		if v.prologueAt(p, pc-i*insnBytes) != prologueInTwo {
			continue
		}
		for q := pc - i*insnBytes + insnBytes; q < pc; q += insnBytes {
			if w, _ := v.at(q); w != setFP {
				if c, _ := w.stack(); c != level {
					return rule, false // the frame is complete
				}
			}
		}
		return framed(2 * wordBytes), p.frameBytes() != 2*wordBytes
	}
	return rule, false
}

// frameAt returns the size, CFA − sp after the frame is made, or [otherFramesEnd]. gone means that it is removed, with
// the return address in x30.
func (v window) frameAt(p *blob, pc uint64) (size int64, gone bool) {
	last, _ := v.at(pc - insnBytes)
	s := endSearch{window: v, piece: p, from: pc, loaded: last.is(pairMask, uint32(pairOfSP)), size: p.frameBytes()}
	for q, n := pc, 0; n < bytesBehind/insnBytes; n++ {
		var found bool
		if q, found = s.followOne(q); found {
			return s.size, s.gone
		}
	}
	return p.frameBytes(), false
}

// otherFramesEnd: a frame of another size is removed.
const otherFramesEnd = math.MaxInt64

type endSearch struct {
	window window
	piece  *blob
	from   uint64
	loaded bool // x29 and x30 were loaded
	called bool
	size   int64 // of frameAt, with gone
	gone   bool
}

// followOne follows the instruction at q to next. If found, s.size and s.gone are the results of frameAt.
func (s *endSearch) followOne(q uint64) (next uint64, found bool) {
	p := s.piece
	w, ok := s.window.at(q)
	if !ok {
		return 0, true
	}
	if w.is(pairMask, uint32(pairOfSP)) {
		s.loaded = true
	}
	switch c, moved := w.stack(); {
	case w == popPair:
		s.size = 2 * wordBytes
		return 0, true
	case c == raises && (s.loaded || s.window.pairNext(q)):
		if moved != p.frameBytes() && moved != p.frameBytes()-2*wordBytes {
			s.size = otherFramesEnd
		}
		return 0, true
	case c == raises:
		s.size = p.frameBytes() + moved
		return 0, true
	case c != level:
		return 0, true
	}
	switch f, to := w.flow(); f {
	case flowReturn:
		s.gone = !s.called && !s.loaded
		return 0, true
	case flowAway:
		s.gone = s.window.removedBefore(p, s.from)
		return 0, true
	case flowJump:
		next = q + uint64(to)
		if next < p.begin || next >= p.end {
			s.gone = s.window.removedBefore(p, s.from)
			return 0, true
		}
		return next, next <= q
	case flowCall:
		s.called = true
	}
	return q + insnBytes, false
}

func (v window) pairNext(pc uint64) bool {
	w, _ := v.at(pc + insnBytes)
	return w == popPair
}

func (v window) removedBefore(p *blob, pc uint64) bool {
	for q := pc - insnBytes; q >= pc-maxRemoval*insnBytes; q -= insnBytes {
		w, ok := v.at(q)
		if !ok {
			return false
		}
		if w == popPair {
			return true
		}
		if c, n := w.stack(); c != level {
			return c == raises && n == p.frameBytes()
		}
		if f, _ := w.flow(); f != flowNext {
			return false
		}
	}
	return false
}

const maxRemoval = 8 // instructions

// inCallStub matches the stubs of CompiledDirectCall::emit_to_interp_stub and MacroAssembler::emit_trampoline_stub:
//
//	movz x12, #…; movk x12, …; movz x8, …; movk x8, …; br x8
//	ldr x8, the word after; br x8
func (v window) inCallStub(pc uint64) bool {
	w, _ := v.at(pc)
	next, _ := v.at(pc + insnBytes)
	last, _ := v.at(pc - insnBytes)
	if w == loadNext && next == jumpX8 || w == jumpX8 && last == loadNext {
		return true
	}
	part := func(w insn) bool {
		wide := w.is(0xff800000, 0xd2800000) || w.is(0xff800000, 0xf2800000) // movz, movk
		return wide && (w.rd() == regMethod || w.rd() == regScratch) || w == nop || w == isb
	}
	q, loads := pc, false
	for w, ok := v.at(q); ok && part(w); w, ok = v.at(q) {
		loads = loads || w.is(0xffe0001f, 0xd280000c)
		q += insnBytes
	}
	if w, _ := v.at(q); w != jumpX8 {
		return false
	}
	for q = pc - insnBytes; !loads; q -= insnBytes {
		w, ok := v.at(q)
		if !ok || !part(w) {
			return false
		}
		loads = w.is(0xffe0001f, 0xd280000c)
	}
	return true
}

const (
	regMethod  = 12 // the called method
	regScratch = 8
)

// leavesByPoll matches a frameless piece for a safepoint poll: adr x8, poll; str x8, [x28, #…]; jump.
func (v window) leavesByPoll(p *blob, pc uint64) bool {
	for back := uint64(0); back <= 4; back++ {
		q := pc - back*insnBytes
		w, ok := v.at(q)
		if !ok {
			return false
		}
		next, _ := v.at(q + insnBytes)
		if w.is(0x9f00001f, 0x10000008) && next.is(0xffc003ff, 0xf9000388) {
			poll := q + uint64(w.signed(5, 19)<<2|int64(w>>29&3))
			return poll >= p.begin && poll < p.end && v.jumpsOut(p, q+2*insnBytes)
		}
		if f, _ := w.flow(); f != flowNext && back > 0 {
			return false
		}
	}
	return false
}

func (v window) jumpsOut(p *blob, pc uint64) bool {
	for range 4 {
		w, _ := v.at(pc)
		f, to := w.flow()
		switch {
		case f == flowJump:
			next := pc + uint64(to)
			return next < p.begin || next >= p.end
		case w == jumpX8:
			return true
		case f != flowNext || w.rd() != regScratch:
			return false
		}
		pc += insnBytes
	}
	return false
}
