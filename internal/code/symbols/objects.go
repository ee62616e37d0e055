// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"debug/elf"
	"fmt"
	"path"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/waits"
)

// object returns the static variable at addr, a file address, and the offset in it.
func (t *Table) object(addr uint64) (name string, offset uint64, ok bool) {
	if t.objects == nil {
		t.objects = t.readObjects()
	}
	v := t.objects.find(addr)
	if v == nil {
		return "", 0, false
	}
	name, _ = displayName(t.objects.name(v.name))
	return name, addr - v.addr, name != ""
}

// readObjects reads the first table with variables: the file's, its debug file's, or that for the dynamic linker.
func (t *Table) readObjects() *symIndex {
	b := builder{x: new(symIndex), rankOf: rankOfObject}
	if f := t.from.File; f != nil && !b.addTable(f, elffile.SymTab) {
		if d := t.debugFile(); d == nil || !b.addTable(d.File, elffile.SymTab) {
			b.addTable(f, elffile.DynSym)
		}
	}
	b.finish()
	return b.x
}

func rankOfObject(s *elffile.Symbol) (rank uint8, ok bool) {
	return rankFunc, s.Type() == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF && s.Size > 0 && s.NameOff != 0
}

// VariableAt returns the static variable at an address in process pid, or none with the name "".
func (n *Namer) VariableAt(space *frames.Space, pid int, addr uint64) (v waits.Variable) {
	if img, fileAddr := loadedcode.ImageAt(space, addr); img != nil {
		v.Name, v.Offset, _ = n.table(img, pid).object(fileAddr)
	}
	return v
}

// Symbol returns the function at addr by symbol tables only, or "".
func (n *Namer) Symbol(img *loadedcode.Image, pid int, addr uint64) string {
	name, _ := displayName(n.table(img, pid).symbols().linkageName(addr))
	return name
}

// addressFrame names a function of a file without .symtab by its address, "prog+0x1600", unless a distribution
// installed the file: for those there are debug packages.
func (t *Table) addressFrame(addr uint64) (Frame, bool) {
	if t.from.File == nil || t.from.Path == "" || t.from.Path[0] == '[' || unnamedcode.IsFromDistribution(t.from.Path) {
		return Frame{}, false
	}
	if t.from.File.Section(".symtab") != nil { // not stripped: no function
		return Frame{}, false
	}
	bounds := t.cfi()
	if bounds == nil {
		return Frame{}, false
	}
	start, _, ok := bounds.FuncRange(addr)
	if !ok {
		return Frame{}, false
	}
	return Frame{Name: fmt.Sprintf("%s+%#x", path.Base(t.from.Path), start)}, true
}
