// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/runtimes/hotspot/aarch64"
)

func (v *VM) ruleA64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	p := b.piece()
	switch b.kind {
	case kindMethod:
		switch {
		case q.Caller:
			return v.a64.MethodCaller(p, q.PC)
		case !b.stub:
			return v.a64.Method(p, q.PC)
		}
	case kindInterpreter:
		if !q.SPOnly {
			return v.interpreterA64(b, q)
		}
	case kindAdapter:
		if v.knowsSender() {
			return v.a64.Adapter(p, q.PC, q.Caller)
		}
	case kindMethodHandles:
		if !q.Caller && !q.SPOnly && v.knowsSender() {
			return v.a64.Handles()
		}
	case kindDispatch:
		if !q.Caller {
			return v.a64.Dispatch()
		}
	case kindDeopt:
		if q.Caller && !q.SPOnly {
			return v.a64.Record()
		}
	case kindException:
		if q.Caller && b.frameWords > 0 {
			return v.a64.MethodCaller(p, q.PC)
		}
	}
	return frames.Rule{}, nil, false
}

func (v *VM) interpreterA64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, q.PC)
	if !ok {
		return frames.Rule{}, nil, false
	}
	p := &aarch64.Piece{Begin: c.begin, End: c.end}
	switch {
	case q.Caller:
		return v.a64.InterpreterCaller(p, q.PC)
	case !c.entry:
		return v.a64.Interpreter(p, q.PC)
	}
	v.knowsSender()
	return v.a64.Entry(p, q.PC)
}

// maxSenderTries bounds searches of an interpreter that may be incomplete.
const maxSenderTries = 16

// knowsSender finds how interpreted methods get the caller's sp.
func (v *VM) knowsSender() bool {
	if v.a64.KnowsSender() || v.senderTries >= maxSenderTries {
		return v.a64.KnowsSender()
	}
	v.senderTries++
	m, l := v.memory(), v.layout
	at := m.word(m.word(l.staticAddress("AbstractInterpreter::_code")) + l.offset("StubQueue::_stub_buffer"))
	b, ok := v.find(at)
	if m.failed || !ok || b.kind != kindInterpreter {
		return false
	}
	at += l.sizes["InterpreterCodelet"]
	for range maxCodelets {
		c, ok := v.codeletAt(&b, at)
		if !ok {
			return false
		}
		if c.entry && v.a64.LearnSender(&aarch64.Piece{Begin: c.begin, End: c.end}) {
			return true
		}
		at = c.end + l.sizes["InterpreterCodelet"]
	}
	return false
}

func (b *blob) piece() *aarch64.Piece {
	p := &aarch64.Piece{Begin: b.begin, End: b.end, Frame: 8 * int64(b.frameWords), Assembly: b.stub}
	if b.completeAt > 0 {
		p.Complete = b.begin + uint64(b.completeAt)
	}
	return p
}

func (v *VM) interpretedRow() *frames.Row {
	if v.a64 != nil {
		return aarch64.Interpreted
	}
	return &interpreted
}

func (v *VM) interpretedFrame() *interpretedFrame {
	if v.a64 != nil {
		return &frameA64
	}
	return &frameX86
}
