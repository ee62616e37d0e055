// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"slices"

	"prywalk/internal/base/sample"
)

type lines struct {
	funcs  *funcs
	gofunc uint64 // of go:func.*; 0 means that inlined calls have no names
}

// The constants are of runtime/funcdata.h and internal/abi.
const (
	pcdataInlTree   = 2
	funcdataInlTree = 3
)

const maxInline = 64

// Lines implements [managed.FileTable]. Before Go 1.20 no function has a StartLine.
func (l *lines) Lines(pc uint64, out []sample.Frame) []sample.Frame {
	f, ok := l.funcs.find(pc)
	if !ok {
		return out
	}
	base, first := len(out), pc
	tree, ok := l.inlTree(&f)
	for ok && len(out)-base < maxInline {
		i, found := l.funcs.pcdata(&f, pcdataInlTree, pc)
		if !found || i < 0 {
			break
		}
		c, good := l.inlinedCall(tree, uint64(i), &f)
		if !good {
			out, pc = out[:base], first
			break
		}
		call := frameOf(c.name, c.startLine)
		call.File, call.Line = l.fileLine(&f, pc)
		call.Inlined = true
		out = append(out, call)
		pc = f.entry + uint64(c.parentPC)
	}
	outermost := frameOf(l.funcs.name(&f), f.startLine)
	outermost.File, outermost.Line = l.fileLine(&f, pc)
	return append(out, outermost)
}

// frameOf names a function by its linkage name, which is mangled only for C++ and Rust.
func frameOf(name []byte, startLine uint32) sample.Frame {
	s := string(name)
	return sample.Frame{Name: s, System: s, StartLine: int(startLine)}
}

func (l *lines) fileLine(f *funcInfo, pc uint64) (string, int) {
	file, ok := l.funcs.pcvalue(f, f.pcfile, pc)
	line, ok2 := l.funcs.pcvalue(f, f.pcln, pc)
	if !ok || !ok2 || file < 0 || line < 0 {
		return "", 0
	}
	at := 4 * (uint64(f.cuOff) + uint64(file))
	if at+4 > uint64(len(l.funcs.h.cus)) {
		return "", 0
	}
	name := cstring(l.funcs.h.files, uint64(binary.LittleEndian.Uint32(l.funcs.h.cus[at:])))
	if name == nil {
		return "", 0
	}
	return string(name), int(line)
}

func (l *lines) inlTree(f *funcInfo) (uint64, bool) {
	at := 4*uint64(f.npcdata) + 4*funcdataInlTree
	if f.nfuncdata <= funcdataInlTree || l.gofunc == 0 || at+4 > uint64(len(f.tail)) {
		return 0, false
	}
	off := binary.LittleEndian.Uint32(f.tail[at:])
	return l.gofunc + uint64(off), off != ^uint32(0)
}

// call is an inlinedCall of runtime/symtabinl.go.
type call struct {
	name      []byte
	parentPC  uint32
	startLine uint32
}

func (l *lines) inlinedCall(tree, i uint64, f *funcInfo) (call, bool) {
	var b [20]byte
	size, name, parent := 16, 4, 8
	if l.funcs.h.magic != magic120 {
		size, name, parent = 20, 12, 16
	}
	if i > maxSteps || !l.funcs.img.read(tree+i*uint64(size), b[:size]) {
		return call{}, false
	}
	c := call{parentPC: binary.LittleEndian.Uint32(b[parent:])}
	if l.funcs.h.magic == magic120 {
		c.startLine = binary.LittleEndian.Uint32(b[12:])
	}
	off := uint64(binary.LittleEndian.Uint32(b[name:]))
	c.name = cstring(l.funcs.h.names, off)
	starts := off > 0 && off <= uint64(len(l.funcs.h.names)) && l.funcs.h.names[off-1] == 0
	return c, starts && len(c.name) > 0 && uint64(c.parentPC) < f.end-f.entry
}

// funcByName returns the entries of all functions with a name: assembly and its wrapper share one.
func (t *funcs) funcByName(name string) []uint64 {
	var out []uint64
	for i := range t.h.nfunc {
		pc, off, ok := t.ftab(i)
		if !ok || off >= uint64(len(t.h.funcs)) {
			continue
		}
		f := funcInfo{entry: pc}
		if t.record(&f, uint32(off)) && string(t.name(&f)) == name {
			out = append(out, pc)
		}
	}
	slices.Sort(out)
	return out
}
