// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/frames"

func (v *VM) ruleARM64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	switch b.kind {
	case kindMethod:
		switch {
		case q.AfterCall:
			return v.ruleAtReturnARM64(b, q.PC)
		case !b.stub:
			return v.ruleInMethodARM64(b, q.PC)
		}
	case kindInterpreter:
		if !q.SPOnly {
			return v.ruleInInterpreterARM64(b, q)
		}
	case kindAdapter:
		if v.knowsSender() {
			return v.ruleInAdapterARM64(b, q.PC, q.AfterCall)
		}
	case kindMethodHandles: // frameless
		if !q.AfterCall && !q.SPOnly && v.knowsSender() {
			return inLR(bySender(v.sender))
		}
	case kindDispatch:
		return leaf, nil, !q.AfterCall
	case kindDeopt:
		return byRecord(), nil, q.AfterCall && !q.SPOnly
	case kindException:
		if q.AfterCall {
			return v.ruleAtReturnARM64(b, q.PC)
		}
	}
	return frames.Rule{}, nil, false
}

func (v *VM) ruleInInterpreterARM64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, q.PC)
	switch {
	case !ok:
		return frames.Rule{}, nil, false
	case c.entry && !q.AfterCall:
		v.knowsSender()
		return v.ruleInEntryARM64(&c, q.PC)
	}
	return v.around(c.begin, c.end, q.PC).ruleInInterpreter(q.PC, q.AfterCall)
}

func (v window) ruleInInterpreter(pc uint64, afterCall bool) (frames.Rule, *frames.Row, bool) {
	if afterCall {
		if rule, row, ok := v.afterIntrinsicCall(pc); ok {
			return rule, row, true
		}
	}
	return v.inActivation(pc, afterCall)
}

const maxSenderTries = 16

// knowsSender looks for the register with the caller's sp in the entries of interpreted methods.
func (v *VM) knowsSender() bool {
	if v.sender != 0 || v.senderTries >= maxSenderTries {
		return v.sender != 0
	}
	v.senderTries++
	m, l := v.memory(), v.layout
	next := m.word(m.word(l.staticAddress("AbstractInterpreter::_code")) + l.offset("StubQueue::_stub_buffer"))
	b, ok := v.find(next)
	if m.err != nil || !ok || b.kind != kindInterpreter {
		return false
	}
	for range maxCodelets {
		c, ok := v.codeletAt(&b, next+l.sizes["InterpreterCodelet"])
		if !ok {
			return false
		}
		if c.entry {
			if v.sender = v.entryCode(&c).entryOf().sender; v.sender != 0 {
				return true
			}
		}
		next = c.end
	}
	return false
}

// ruleInAdapterARM64 returns the rule in an adapter between interpreted and compiled code. From the interpreter
// (gen_i2c_adapter):
//
//	[sub x8, sp, #…; and sp, x8, #-16;] …; br x8
//
// From compiled code, after an optional call (gen_c2i_adapter):
//
//	[stp x29, x30, [sp, #-16]!; mov x29, sp; …; ldp x29, x30, [sp], #16;] mov sender, sp; [sub sp, sp, #…;] …; br x8
func (v *VM) ruleInAdapterARM64(p *blob, pc uint64, afterCall bool) (frames.Rule, *frames.Row, bool) {
	if pc%insnBytes != 0 {
		return frames.Rule{}, nil, false
	}
	from := max(p.begin, pc-min(pc, maxAdapter))
	code := window{from, v.code(from, pc-from)}
	for q := pc - insnBytes; ; q -= insnBytes {
		w, ok := code.at(q)
		f, _ := w.flow()
		switch {
		case ok && w == setFP:
			return byRecord(), nil, true
		case ok && w == pushPair && !afterCall:
			return framed(2 * wordBytes), nil, q+insnBytes == pc
		case afterCall && (!ok || w == popPair):
			return frames.Rule{}, nil, false
		case !ok:
			return leaf, nil, q < p.begin
		case w == popPair, f == flowAway, f == flowReturn, f == flowJump:
			return leaf, nil, !afterCall
		case w.is(0xffffffe0, 0x910003e0) && w.rd() == v.sender: // mov sender, sp
			return inLR(bySender(v.sender))
		}
	}
}

const maxAdapter = 2048 // bytes
