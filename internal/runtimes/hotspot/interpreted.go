// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

func (n *Names) inInterpreter(b *blob, pc uint64, caller bool) codeInfo {
	p := codeInfo{ref: managed.Ref{Object: b.begin, Kind: refStub}, interp: interpretedFrameComplete}
	c, ok := n.vm.codeletAt(b, pc)
	if !ok {
		p.interp = notInterpreted
		return p
	}
	p.ref.Object, p.ref.Position = c.text, c.begin
	p.continuesDeopt = caller && c.continuesDeopt
	q := frames.Query{PC: pc, Caller: caller}
	if _, row, ok := n.vm.Rule(q); !ok || row != n.vm.interpretedRow() {
		p.interp = notInterpreted
		if c.entry && !caller {
			p.interp = interpretedEntry
		}
	}
	return p
}

// # Interpreter's frame (x86-64)
//
//	fp +  8   return address
//	fp        caller's fp
//	fp −  8   caller's sp
//	fp − 24   Method
//	fp − 48   constant pool cache    JDK 8: fp − 40
//	fp − 64   bytecode pointer       JDK 8: fp − 56

// interpretedFrame has distances below the frame pointer (frame_x86.hpp, frame_aarch64.hpp); in JDK 8 the latter two
// are less by bytecodeJDK8. bytecodeReg is the innermost frame's bytecode pointer, methodReg the method being entered.
type interpretedFrame struct {
	method, constants, bytecode, bytecodeJDK8 uint64
	bytecodeReg, methodReg                    uint8
}

var (
	frameX86 = interpretedFrame{24, 48, 64, 8, frames.X86R13, frames.X86RBX}
	frameA64 = interpretedFrame{24, 56, 72, 16, 22, 12}
)

// interpretedRef gives an interpreted frame's position; false if its method is invalid.
func (n *Names) interpretedRef(f *frames.Frame, how interpreterState) (managed.Ref, bool) {
	is := n.vm.interpretedFrame()
	if how == interpretedEntry || f.FP == 0 || !f.Caller && f.SP > f.FP-is.method {
		return n.enteredRef(f)
	}
	less := uint64(0)
	if n.layout.major < 9 {
		less = is.bytecodeJDK8
	}
	at, ok := n.word(f.FP - is.method)
	m := n.methodAt(at)
	if !ok || m == nil {
		if f.Caller && at != 0 && n.doubted() {
			return managed.Ref{Object: at, Kind: refInterpreted}, true
		}
		return n.enteredRef(f)
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

const noBytecode = 1 << 32

// enteredRef gives the method being entered, by the register that holds it until its frame is made. Its entry point
// must be in pc's codelet.
func (n *Names) enteredRef(f *frames.Frame) (managed.Ref, bool) {
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

func (n *validity) word(addr uint64) (uint64, bool) { return n.sample.Mem.Word(addr) }
