// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

type interpreter struct {
	layout
	types
	version     string
	module      *frames.Module
	hidesModule bool           // the file contains only the interpreter
	at, size    uint64         // _PyRuntime
	evalLoop    []managed.Span // before 3.11
	host        managed.Host
}

// types are addresses, or 0 if they are unknown.
type types struct {
	codeType, dictType, unicodeType, moduleType, longType, frameType uint64

	coroutineTypes [3]uint64
}

func (in *interpreter) findTypes() {
	for name, at := range map[string]*uint64{
		"PyDict_Type": &in.dictType, "PyUnicode_Type": &in.unicodeType, "PyModule_Type": &in.moduleType,
		"PyLong_Type": &in.longType, "PyFrame_Type": &in.frameType,
		"PyCoro_Type": &in.coroutineTypes[0], "PyGen_Type": &in.coroutineTypes[1],
		"PyAsyncGen_Type": &in.coroutineTypes[2],
	} {
		*at, _, _ = in.host.Symbol(in.module, name)
	}
}

func (in *interpreter) owns(m *frames.Module) bool {
	return managed.SameModule(m, in.module)
}

func (in *interpreter) inEvalLoop(pc uint64) bool {
	return slices.ContainsFunc(in.evalLoop, func(s managed.Span) bool { return s.Has(pc) })
}

func (in *interpreter) isIdle(state, first uint64) bool {
	return first == 0 || first-state < uint64(in.threadSize) // its own _PyCFrame (3.11, 3.12) or sentinel (3.15)
}

func (in *interpreter) frame(at, code, instr uint64, word managed.WordReader) pyFrame {
	code &= in.frameMask
	return pyFrame{at: at, code: code, offset: in.offsetOf(at, code, instr, word)}
}

// Threads of a free-threaded build run, from 3.14 on, copies of the bytecode (Include/internal/pycore_code.h): a frame
// has the number of its copy, the code object the address of an array: its size, and the copies' addresses. Number 0 is
// the code object's own.
const (
	firstCopy = 8

	offsetUnknown = 1 << 30 // beyond all tables of lines, so the line is unknown, too
)

func (in *interpreter) offsetOf(at, code, instr uint64, word managed.WordReader) int {
	own := int(int64(instr - code - uint64(in.codeBytecode)))
	if in.codeCopies == 0 {
		return own
	}
	w, ok := word((at + uint64(in.frameCopy)) &^ 7)
	n := w >> (in.frameCopy & 7 * 8) & (1<<32 - 1)
	if ok && n == 0 {
		return own
	}
	copies, ok1 := word(code + uint64(in.codeCopies))
	size, ok2 := word(copies)
	start, ok3 := word(copies + firstCopy + 8*n)
	if !ok || !ok1 || !ok2 || !ok3 || n >= size || start == 0 || instr < start {
		return offsetUnknown
	}
	return int(min(instr-start, offsetUnknown))
}

func (in *interpreter) word(addr uint64) (uint64, bool) { return managed.ReadWord(in.host, addr) }

func (in *interpreter) read64(addr uint64) uint64 {
	v, _ := in.word(addr)
	return v
}

func (in *interpreter) textOf(mem interface{ Read(uint64, []byte) int }, addr uint64) (string, bool) {
	var b [maxTextHead]byte
	head := b[:in.textCompact]
	if addr == 0 || mem.Read(addr, head) != len(head) {
		return "", false
	}
	n := binary.LittleEndian.Uint64(head[textLength+in.headExtra:])
	state := binary.LittleEndian.Uint16(head[textState+in.headExtra:]) >> in.textInterned
	kind, compact, ascii := uint64(state&7), state&(1<<3) != 0, state&(1<<4) != 0
	if n > maxText || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", false
	}
	from := uint64(in.textCompact)
	if ascii {
		from = uint64(in.textASCII)
	}
	text := make([]byte, n*kind)
	if len(text) > 0 && mem.Read(addr+from, text) != len(text) {
		return "", false
	}
	return decodeText(text, int(kind)), true
}
