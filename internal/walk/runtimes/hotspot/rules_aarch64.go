// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/walk/runtimes/hotspot/arm64"
)

func (v *VM) ruleARM64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	p := b.piece()
	switch b.kind {
	case kindMethod:
		switch {
		case q.AfterCall:
			return v.arm64.MethodCaller(p, q.PC)
		case !b.stub:
			return v.arm64.Method(p, q.PC)
		}
	case kindInterpreter:
		if !q.SPOnly {
			return v.interpreterRuleARM64(b, q)
		}
	case kindAdapter:
		if v.knowsSender() {
			return v.arm64.Adapter(p, q.PC, q.AfterCall)
		}
	case kindMethodHandles:
		if !q.AfterCall && !q.SPOnly && v.knowsSender() {
			return v.arm64.Handles()
		}
	case kindDispatch:
		if !q.AfterCall {
			return v.arm64.Dispatch()
		}
	case kindDeopt:
		if q.AfterCall && !q.SPOnly {
			return v.arm64.Record()
		}
	case kindException:
		if q.AfterCall && b.frameWords > 0 {
			return v.arm64.MethodCaller(p, q.PC)
		}
	}
	return frames.Rule{}, nil, false
}

func (v *VM) interpreterRuleARM64(b *blob, q *frames.Query) (frames.Rule, *frames.Row, bool) {
	c, ok := v.codeletAt(b, q.PC)
	if !ok {
		return frames.Rule{}, nil, false
	}
	p := &arm64.Piece{Begin: c.begin, End: c.end}
	switch {
	case q.AfterCall:
		return v.arm64.InterpreterCaller(p, q.PC)
	case !c.entry:
		return v.arm64.Interpreter(p, q.PC)
	}
	v.knowsSender()
	return v.arm64.Entry(p, q.PC)
}

const maxSenderTries = 16

func (v *VM) knowsSender() bool {
	if v.arm64.KnowsSender() || v.senderTries >= maxSenderTries {
		return v.arm64.KnowsSender()
	}
	v.senderTries++
	m, l := v.memory(), v.layout
	next := m.word(m.word(l.staticAddress("AbstractInterpreter::_code")) + l.offset("StubQueue::_stub_buffer"))
	b, ok := v.find(next)
	if m.failed || !ok || b.kind != kindInterpreter {
		return false
	}
	next += l.sizes["InterpreterCodelet"]
	for range maxCodelets {
		c, ok := v.codeletAt(&b, next)
		if !ok {
			return false
		}
		if c.entry && v.arm64.LearnSender(&arm64.Piece{Begin: c.begin, End: c.end}) {
			return true
		}
		next = c.end + l.sizes["InterpreterCodelet"]
	}
	return false
}

func (b *blob) piece() *arm64.Piece {
	p := &arm64.Piece{Begin: b.begin, End: b.end, Frame: 8 * int64(b.frameWords), Assembly: b.stub}
	if b.completeAt > 0 {
		p.Complete = b.begin + uint64(b.completeAt)
	}
	return p
}
