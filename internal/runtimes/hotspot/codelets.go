// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"sort"
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// codelet is a piece of the interpreter (InterpreterCodelet).
type codelet struct {
	begin, end     uint64
	text           uint64 // address of the description
	described      bool
	entry          bool // a method entry
	continuesDeopt bool
}

// codelets are the interpreter's pieces, constant once all are generated.
type codelets struct {
	blob blob // grows until then
	list []codelet
}

const maxCodelets = 1 << 12

func (k *codeCache) codeletAt(b *blob, addr uint64) (codelet, bool) {
	p := &k.pieces
	if p.blob != *b {
		*p = codelets{blob: *b}
	}
	c := p.find(addr)
	if c == nil {
		p.list = k.readCodelets()
		c = p.find(addr)
	}
	if c == nil {
		return codelet{}, false
	}
	if !c.described {
		m := k.memory()
		text := m.name(c.text)
		c.entry, c.continuesDeopt = strings.Contains(text, entryText), strings.Contains(text, "deoptimization")
		c.described = !m.failed
	}
	return *c, c.described
}

const entryText = "method entry point"

func (p *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].end > addr })
	if i == len(p.list) || addr < p.list[i].begin {
		return nil
	}
	return &p.list[i]
}

// readCodelets lists the pieces by address (StubQueue::stubs_do).
func (k *codeCache) readCodelets() (list []codelet) {
	var pages managed.Pages
	pages.Reset(&k.cached.process)
	m, l := memory{read: pages.Read}, k.layout
	queue := m.word(l.static("AbstractInterpreter::_code"))
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(m.int32(queue+l.offset("StubQueue::_buffer_limit")))
	for len(list) < maxCodelets && at < end {
		size := uint64(uint32(m.int32(at + l.offset("InterpreterCodelet::_size"))))
		text := m.word(at + l.offset("InterpreterCodelet::_description"))
		if m.failed || size == 0 || at+size < at {
			break
		}
		list = append(list, codelet{begin: at + l.sizes["InterpreterCodelet"], end: at + size, text: text})
		at += size
	}
	return list
}

func (n *Names) inInterpreter(b *blob, pc uint64, caller bool) codeInfo {
	p := codeInfo{ref: managed.Ref{Object: b.begin, Kind: refStub}, interp: interpWhole}
	c, ok := n.vm.codeletAt(b, pc)
	if !ok {
		p.interp = interpNone
		return p
	}
	p.ref.Object, p.ref.Position = c.text, c.begin
	p.continuesDeopt = caller && c.continuesDeopt
	q := frames.Query{PC: pc, Caller: caller}
	if _, row, ok := n.vm.Rule(q); !ok || row != n.vm.interpretedRow() {
		p.interp = interpNone
		if c.entry && !caller {
			p.interp = interpEnter
		}
	}
	return p
}

// interpretedFrame has the distances of method, constants and bytecode below the frame pointer (frame_x86.hpp,
// frame_aarch64.hpp); in JDK 8 the latter two are nearer by before9. bytecodeReg holds the innermost frame's bytecode
// pointer, methodReg the method being entered.
type interpretedFrame struct {
	method, constants, bytecode, before9 uint64
	bytecodeReg, methodReg               uint8
}

var (
	frameX86 = interpretedFrame{24, 48, 64, 8, frames.X86R13, frames.X86RBX}
	frameA64 = interpretedFrame{24, 56, 72, 16, 22, 12}
)

// interpreted gives an interpreted frame's position; false if its method is invalid.
func (n *Names) interpreted(f *frames.Frame, how interp) (managed.Ref, bool) {
	is := n.vm.interpretedFrame()
	if how == interpEnter || f.FP == 0 || !f.Caller && f.SP > f.FP-is.method {
		return n.entered(f)
	}
	less := uint64(0)
	if n.layout.major < 9 {
		less = is.before9
	}
	at, ok := n.word(f.FP - is.method)
	m := n.methodAt(at)
	if !ok || m == nil {
		if f.Caller && at != 0 && n.doubted() {
			return managed.Ref{Object: at, Kind: refInterpreted}, true
		}
		return n.entered(f)
	}
	bcp := uint64(0)
	if f.Caller || f.SP <= f.FP-is.bytecode+less {
		bcp, _ = n.word(f.FP - is.bytecode + less)
		if pool, ok := n.word(f.FP - is.constants + less); !ok || pool != m.cache {
			return managed.Ref{Object: at, Kind: refInterpreted}, true
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

// cookieOf gives the method's identity; 0 if it may have changed since the copy.
func (n *moments) cookieOf(m *method) uint64 {
	if m.since >= n.at && n.doubted() {
		return 0
	}
	return m.cookie
}

const noBytecode = 1 << 32

// entered gives the method being entered, from the register that holds it until its frame is made. Its entry point must
// be in pc's codelet.
func (n *Names) entered(f *frames.Frame) (managed.Ref, bool) {
	at, ok := n.sample.Regs.Get(n.vm.interpretedFrame().methodReg)
	if !ok || f.Caller {
		return managed.Ref{}, false
	}
	b, ok := n.vm.find(f.PC)
	if !ok {
		return managed.Ref{}, false
	}
	c, ok := n.vm.codeletAt(&b, f.PC)
	m := n.methodAt(at)
	if !ok || m == nil {
		return managed.Ref{}, false
	}
	if entry := n.vm.memory().word(at + n.layout.at.Method.Entry.offset); entry < c.begin || entry >= c.end {
		return managed.Ref{}, false
	}
	return managed.Ref{Object: at, Position: noBytecode, Cookie: n.cookieOf(m), Kind: refInterpreted}, true
}

func (n *moments) word(addr uint64) (uint64, bool) { return n.sample.Mem.Word(addr) }
