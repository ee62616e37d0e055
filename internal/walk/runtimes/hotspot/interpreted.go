// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"sort"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

func (j *javaFrames) interpreterInfo(b *blob, pc uint64, afterCall bool) codeInfo {
	info := codeInfo{ref: managed.Ref{Object: b.begin, Kind: refStub}}
	c, ok := j.vm.codeletAt(b, pc)
	if !ok {
		return info
	}
	info.ref.Object, info.ref.Position = c.text, c.begin
	info.continuesDeopt = afterCall && c.continuesDeopt
	_, row, ok := j.vm.Rule(frames.Query{PC: pc, AfterCall: afterCall})
	switch {
	case ok && row == j.vm.interpretedFrame().row:
		info.interp = interpretedFrameComplete
	case c.entry && !afterCall:
		info.interp = interpretedEntry
	}
	return info
}

// # Interpreter's frame (x86-64)
//
//	fp +  8   return address
//	fp        caller's fp
//	fp −  8   caller's sp
//	fp − 24   Method
//	fp − 48   constant pool cache    JDK 8: fp − 40
//	fp − 64   bytecode pointer       JDK 8: fp − 56

// Distances below the frame pointer (frame_x86.hpp, frame_aarch64.hpp).
type interpretedFrame struct {
	row                         *frames.Row
	method, constants, bytecode uint64
	// lessInJDK8 is by how much constants and bytecode are less in JDK 8.
	lessInJDK8 uint64
	// bytecodeReg is the innermost frame's, methodReg the entered method's.
	bytecodeReg, methodReg uint8
}

var (
	frameX86   = interpretedFrame{&interpreted, 24, 48, 64, 8, frames.X86R13, frames.X86RBX}
	frameARM64 = interpretedFrame{interpretedARM64, 24, 56, 72, 16, 22, 12}
)

func (v *VM) interpretedFrame() interpretedFrame {
	if v.isARM64() {
		return frameARM64
	}
	return frameX86
}

// interpretedRef returns an interpreted frame's position, or false if its method is invalid.
func (j *javaFrames) interpretedRef(f *frames.Frame, state interpreterState) (managed.Ref, bool) {
	offsets := j.vm.interpretedFrame()
	if j.vm.nameLayout.major < 9 {
		offsets.constants, offsets.bytecode = offsets.constants-offsets.lessInJDK8, offsets.bytecode-offsets.lessInJDK8
	}
	if state == interpretedEntry || f.FP == 0 || !hasStored(f, offsets.method) {
		return j.enteredRef(f)
	}
	methodAddr, ok := j.validity.word(f.FP - offsets.method)
	m, err := j.methods.methodAt(methodAddr)
	if !ok || err != nil {
		if f.AfterCall && methodAddr != 0 && j.validity.doubted() {
			return managed.Ref{Object: methodAddr, Kind: refInterpreted}, true
		}
		return j.enteredRef(f)
	}
	pointer, ok := j.bytecodePointer(f, &offsets, m)
	if !ok {
		return managed.Ref{Object: methodAddr, Kind: refInterpreted}, true
	}
	r := managed.Ref{
		Object: methodAddr, Position: pointer - m.bytecodeAt, Cookie: j.validity.cookieOf(m), Kind: refInterpreted,
	}
	if r.Position >= m.bytecodeSize {
		r.Position = noBytecode
	}
	return r, true
}

func hasStored(f *frames.Frame, distance uint64) bool { return f.AfterCall || f.SP <= f.FP-distance }

// bytecodePointer returns the frame's pointer, which is 0 before the first bytecode, or false if the frame's constant
// pool cache is not m's.
func (j *javaFrames) bytecodePointer(f *frames.Frame, offsets *interpretedFrame, m *method) (pointer uint64, ok bool) {
	if hasStored(f, offsets.bytecode) {
		pointer, _ = j.validity.word(f.FP - offsets.bytecode)
		if constants, ok := j.validity.word(f.FP - offsets.constants); !ok || constants != m.poolCache {
			return 0, false
		}
	}
	current, known := j.validity.sample.Regs.Get(offsets.bytecodeReg)
	if isCurrent := known && !f.AfterCall; isCurrent && current-m.bytecodeAt < m.bytecodeSize {
		return current, true
	}
	return pointer, true
}

const noBytecode = 1 << 32

// enteredRef refers to the method in a register, until its frame is made. Its entry point must be in pc's codelet.
func (j *javaFrames) enteredRef(f *frames.Frame) (managed.Ref, bool) {
	methodAddr, ok := j.validity.sample.Regs.Get(j.vm.interpretedFrame().methodReg)
	if !ok || f.AfterCall {
		return managed.Ref{}, false
	}
	b, ok := j.vm.find(f.PC)
	if !ok {
		return managed.Ref{}, false
	}
	c, ok := j.vm.codeletAt(&b, f.PC)
	m, err := j.methods.methodAt(methodAddr)
	if !ok || err != nil {
		return managed.Ref{}, false
	}
	entry := j.vm.memory().word(methodAddr + j.vm.layout.offset("Method::_i2i_entry"))
	if entry < c.begin || entry >= c.end {
		return managed.Ref{}, false
	}
	return managed.Ref{
		Object: methodAddr, Position: noBytecode, Cookie: j.validity.cookieOf(m), Kind: refInterpreted,
	}, true
}

type codelet struct {
	begin, end     uint64
	text           uint64 // address of its name
	entry          bool
	continuesDeopt bool
}

// codelets are constant once all are generated.
type codelets struct {
	blob blob // grows until then
	list []codelet
	all  bool // the list is up to the end of the interpreter
}

const maxCodelets = 1 << 12

func (v *VM) codeletAt(b *blob, addr uint64) (codelet, bool) {
	all := &v.codelets
	if all.blob != *b {
		*all = codelets{blob: *b}
	}
	found := all.find(addr)
	if found == nil {
		all.list, all.all = v.readCodelets()
		found = all.find(addr)
	}
	if found == nil {
		return codelet{}, false
	}
	return *found, true
}

const entryText = "method entry point"

func (c *codelets) find(addr uint64) *codelet {
	i := sort.Search(len(c.list), func(i int) bool { return c.list[i].end > addr })
	if i == len(c.list) || addr < c.list[i].begin {
		return nil
	}
	return &c.list[i]
}

// readCodelets is StubQueue::stubs_do.
func (v *VM) readCodelets() (list []codelet, all bool) {
	var pages managed.Pages
	pages.Reset(v.cached.process)
	m, l := memory{from: &pages}, v.layout
	queue := m.word(l.staticAddress("AbstractInterpreter::_code"))
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(m.int32(queue+l.offset("StubQueue::_buffer_limit")))
	for len(list) < maxCodelets && at < end {
		size := uint64(uint32(m.int32(at + l.offset("InterpreterCodelet::_size"))))
		c := codelet{begin: at + l.sizes["InterpreterCodelet"], end: at + size}
		c.text = m.word(at + l.offset("InterpreterCodelet::_description"))
		text := m.name(c.text)
		if m.err != nil || size == 0 || at+size < at {
			break
		}
		c.entry, c.continuesDeopt = strings.Contains(text, entryText), strings.Contains(text, "deoptimization")
		list = append(list, c)
		at += size
	}
	v.unread = v.unread || m.err != nil
	return list, m.err == nil && len(list) > 0 && at == end
}
