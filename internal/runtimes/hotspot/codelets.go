// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"sort"
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// codelet is a piece of the interpreter.
type codelet struct {
	begin, end uint64 // of its code
	text       uint64 // where its description is
	described  bool   // the following are known
	entry      bool   // what methods begin with: the frame is made in it
	replaced   bool   // where frames go on that have replaced a compiled one
}

// codelets are the pieces of the interpreter, which are made as the machine starts and never changed.
type codelets struct {
	of   blob // whose code they are: it is larger until all are made
	list []codelet
}

// maxCodelets bounds the pieces of the interpreter; there are some hundred.
const maxCodelets = 1 << 12

// codeletAt gives the piece of the interpreter that an address of its blob is in.
func (v *VM) codeletAt(b *blob, addr uint64) (codelet, bool) {
	p := &v.pieces
	if p.of != *b {
		*p = codelets{of: *b}
	}
	c := p.find(addr)
	if c == nil {
		p.list = v.readCodelets()
		c = p.find(addr)
	}
	if c == nil {
		return codelet{}, false
	}
	if !c.described {
		m := v.memory()
		text := m.name(c.text)
		c.entry, c.replaced = strings.Contains(text, entryText), strings.Contains(text, "deoptimization")
		c.described = !m.failed
	}
	return *c, c.described
}

// entryText is in the descriptions of the pieces that methods begin with; "native" may stand before it.
const entryText = "method entry point"

// find gives the piece whose code an address is in, nil if there is none.
func (p *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].end > addr })
	if i == len(p.list) || addr < p.list[i].begin {
		return nil
	}
	return &p.list[i]
}

// readCodelets lists the pieces in order of their addresses (StubQueue::stubs_do). They lie close together, and are
// read page by page: one by one they took 0.1 to 0.5 ms for each new place in the interpreter.
func (v *VM) readCodelets() (list []codelet) {
	m, l := memory{read: byPages(v.o.Read)}, v.layout
	queue := m.word(l.static("AbstractInterpreter::_code"))
	at := m.word(queue + l.off("StubQueue::_stub_buffer"))
	end := at + uint64(m.int32(queue+l.off("StubQueue::_buffer_limit")))
	for len(list) < maxCodelets && at < end {
		size := uint64(uint32(m.int32(at + l.off("InterpreterCodelet::_size"))))
		text := m.word(at + l.off("InterpreterCodelet::_description"))
		if m.failed || size == 0 || at+size < at {
			break
		}
		list = append(list, codelet{begin: at + l.sizes["InterpreterCodelet"], end: at + size, text: text})
		at += size
	}
	return list
}

// inInterpreter tells how the interpreter's frame looks at one of its addresses.
func (n *Names) inInterpreter(b *blob, pc uint64, caller bool) codeInfo {
	p := codeInfo{ref: managed.Ref{Object: b.begin, Kind: refStub}, interp: interpWhole}
	c, ok := n.v.codeletAt(b, pc)
	if !ok {
		p.interp = interpNone
		return p
	}
	p.ref.Object, p.ref.Position = c.text, c.begin
	p.replaced = caller && c.replaced
	q := frames.Query{PC: pc, Caller: caller}
	if _, row, ok := n.v.Rule(q); !ok || row != n.v.interpretedRow() {
		p.interp = interpNone
		if c.entry && !caller {
			p.interp = interpEnter
		}
	}
	return p
}

// interpretedFrame is the interpreter's frame, by its distances from the frame pointer (frame_x86.hpp,
// frame_aarch64.hpp): the method, the class's constants, the bytecode. The latter two are nearer by before9 in JDK 8.
// Registers have the bytecode of the innermost frame, and the method that is about to be entered.
type interpretedFrame struct {
	method, constants, bytecode, before9 uint64
	bytecodeReg, methodReg               uint8
}

var (
	frameX86 = interpretedFrame{24, 48, 64, 8, frames.X86R13, frames.X86RBX}
	frameA64 = interpretedFrame{24, 56, 72, 16, 22, 12}
)

// interpreted gives the place of an interpreted frame: false if what it says is no method.
func (n *Names) interpreted(f *frames.Frame, how interp) (managed.Ref, bool) {
	is := n.v.interpretedFrame()
	if how == interpEnter || f.FP == 0 || !f.Caller && f.SP > f.FP-is.method {
		return n.entered(f)
	}
	less := uint64(0)
	if n.l.major < 9 {
		less = is.before9
	}
	at, ok := n.word(f.FP - is.method)
	if known := n.methods[at]; known == nil || known.checked < n.at {
		n.foreseeInterpreted(f.FP)
	}
	m := n.methodAt(at)
	if !ok || m == nil {
		if f.Caller && at != 0 && n.doubted() { // the frame is whole: its method has gone since
			return managed.Ref{Object: at, Kind: refInterpreted}, true
		}
		return n.entered(f)
	}
	bcp := uint64(0)
	if f.Caller || f.SP <= f.FP-is.bytecode+less {
		bcp, _ = n.word(f.FP - is.bytecode + less)
		if pool, ok := n.word(f.FP - is.constants + less); !ok || pool != m.cache {
			return managed.Ref{Object: at, Kind: refInterpreted}, true // [freed]: another method is there by now
		}
	}
	if now, known := n.sample.Regs.Get(is.bytecodeReg); known && !f.Caller && now-m.code < m.size {
		bcp = now
	}
	r := managed.Ref{Object: at, Position: bcp - m.code, Cookie: n.cookieOf(m), Kind: refInterpreted}
	if r.Position >= m.size {
		r.Position = noBytecode
	}
	return r, true
}

// cookieOf gives what tells a method from others, 0 if at the time of the copy another one may have been there.
func (n *Names) cookieOf(m *method) uint64 {
	if m.since >= n.at && n.doubted() {
		return 0
	}
	return m.cookie
}

// noBytecode is the position of a method whose bytecode is not known, or that has none.
const noBytecode = 1 << 32

// entered gives the method that is just being called, which a register has until its frame is made. That it is one is
// proven by its entry: that of the very piece of the interpreter that the thread is in.
func (n *Names) entered(f *frames.Frame) (managed.Ref, bool) {
	at, ok := n.sample.Regs.Get(n.v.interpretedFrame().methodReg)
	if !ok || f.Caller {
		return managed.Ref{}, false
	}
	b, ok := n.v.find(f.PC)
	if !ok {
		return managed.Ref{}, false
	}
	c, ok := n.v.codeletAt(&b, f.PC)
	m := n.methodAt(at)
	if !ok || m == nil {
		return managed.Ref{}, false
	}
	if entry := n.v.memory().word(at + n.l.off("Method::_i2i_entry")); entry < c.begin || entry >= c.end {
		return managed.Ref{}, false
	}
	return managed.Ref{Object: at, Position: noBytecode, Cookie: n.cookieOf(m), Kind: refInterpreted}, true
}

func (n *Names) word(addr uint64) (uint64, bool) { return n.sample.Mem.Word(addr) }
