// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"
)

// Line is one logical function at a pc: the function itself, or a call that was
// inlined into it.
type Line struct {
	// Func is the function's name as the linker knows it, with package path.
	Func string
	// File is the path that the compiler saw, Line the line in it; empty and 0
	// where the table does not tell.
	File string
	Line int
	// StartLine is the line of the func keyword, 0 before Go 1.20.
	StartLine int
	// Inlined: the call was inlined into the Line that follows.
	Inlined bool
}

// Number of the tables of the inline tree (runtime/funcdata.h, internal/abi).
const (
	pcdataInlTree      = 2
	funcdataInlTree    = 3
	funcdataInlTree112 = 4 // until Go 1.15
)

// funcdataInlTree gives the number of the function's table that holds the address of the inline tree.
func (h *header) funcdataInlTree() uint64 {
	if h.magic == magic112 {
		return funcdataInlTree112
	}
	return funcdataInlTree
}

// maxInline bounds the depth of inlined calls at one pc.
const maxInline = 64

// Lines appends the functions at pc, the innermost inlined one first and the
// function itself last; nothing if pc lies in no function. For a caller, pc is an
// address inside of the call (Frame.Lookup), not the return address.
func (t *Table) Lines(pc uint64, out []Line) []Line {
	f, ok := t.find(pc)
	if !ok {
		return out
	}
	base, first := len(out), pc
	tree, ok := t.inlTree(&f)
	for ok && len(out)-base < maxInline {
		i, found := t.pcdata(&f, pcdataInlTree, pc)
		if !found || i < 0 {
			break
		}
		c, good := t.inlinedCall(tree, uint64(i), &f)
		if !good {
			// A tree that does not fit is no tree: the function alone.
			out, pc = out[:base], first
			break
		}
		l := Line{Func: string(c.name), StartLine: int(c.startLine), Inlined: true}
		l.File, l.Line = t.fileLine(&f, pc)
		out = append(out, l)
		pc = f.entry + uint64(c.parentPC)
	}
	return append(out, t.plain(&f, pc))
}

// plain gives the function itself at pc.
func (t *Table) plain(f *fn, pc uint64) Line {
	l := Line{Func: string(t.name(f)), StartLine: int(f.startLine)}
	l.File, l.Line = t.fileLine(f, pc)
	return l
}

// fileLine gives the position of pc.
func (t *Table) fileLine(f *fn, pc uint64) (string, int) {
	file, ok := t.pcvalue(f, f.pcfile, pc)
	line, ok2 := t.pcvalue(f, f.pcln, pc)
	if !ok || !ok2 || file < 0 || line < 0 {
		return "", 0
	}
	at := 4 * (uint64(f.cuOff) + uint64(file))
	if at+4 > uint64(len(t.h.cus)) {
		return "", 0
	}
	name := cstring(t.h.files, uint64(binary.LittleEndian.Uint32(t.h.cus[at:])))
	if name == nil {
		return "", 0
	}
	return string(name), int(line)
}

// inlTree gives the address of the function's inline tree.
func (t *Table) inlTree(f *fn) (uint64, bool) {
	table := t.h.funcdataInlTree()
	if uint64(f.nfuncdata) <= table {
		return 0, false
	}
	at := 4 * uint64(f.npcdata)
	if t.h.old() {
		at += uint64((f.at + uint32(at)) & 4) // pointers, aligned
		at += 8 * table
		if at+8 > uint64(len(f.tail)) {
			return 0, false
		}
		p := binary.LittleEndian.Uint64(f.tail[at:])
		return p, p != 0
	}
	at += 4 * table
	if t.mod.gofunc == 0 || at+4 > uint64(len(f.tail)) {
		return 0, false
	}
	off := binary.LittleEndian.Uint32(f.tail[at:])
	return t.mod.gofunc + uint64(off), off != ^uint32(0)
}

// call is an entry of an inline tree (runtime/symtabinl.go, inlinedCall).
type call struct {
	name      []byte
	parentPC  uint32
	startLine uint32
}

// inlinedCall reads entry i of a tree and checks that it can be one.
func (t *Table) inlinedCall(tree, i uint64, f *fn) (call, bool) {
	var b [20]byte
	size, name, parent := 16, 4, 8
	if t.h.magic != magic120 {
		size, name, parent = 20, 12, 16
	}
	if i > maxSteps || !t.img.read(tree+i*uint64(size), b[:size]) {
		return call{}, false
	}
	c := call{parentPC: binary.LittleEndian.Uint32(b[parent:])}
	if t.h.magic == magic120 {
		c.startLine = binary.LittleEndian.Uint32(b[12:])
	}
	off := uint64(binary.LittleEndian.Uint32(b[name:]))
	c.name = cstring(t.h.names, off)
	starts := off > 0 && off <= uint64(len(t.h.names)) && t.h.names[off-1] == 0
	return c, starts && len(c.name) > 0 && uint64(c.parentPC) < f.end-f.entry
}

// FuncByName gives the entry addresses of the functions with a name (assembly
// and its wrapper share one), in order. It reads the whole table.
func (t *Table) FuncByName(name string) []uint64 {
	var out []uint64
	for i := range t.h.nfunc {
		pc, off, ok := t.ftab(i)
		if !ok || off >= uint64(len(t.h.funcs)) {
			continue
		}
		f := fn{entry: pc}
		if t.record(&f, uint32(off)) && string(t.name(&f)) == name {
			out = append(out, pc)
		}
	}
	slices.Sort(out)
	return out
}
