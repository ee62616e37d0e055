// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"cmp"
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"sort"

	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/unnamedcode"
	"prywalk/internal/walk/waits"
)

type object struct {
	addr, size uint64
	name       uint32
}

type objects struct {
	file *elffile.File
	kind elffile.SymbolKind
	list []object
}

const objectCost = 2 * 24 // bytes, in a growing list

// object returns the static variable at addr, a file address, and the offset in it.
func (t *Table) object(addr uint64) (name string, offset uint64, ok bool) {
	if t.objects == nil {
		t.objects = t.readObjects()
	}
	o := t.objects
	i := sort.Search(len(o.list), func(i int) bool { return o.list[i].addr > addr })
	if i == 0 || addr-o.list[i-1].addr >= o.list[i-1].size {
		return "", 0, false
	}
	v := &o.list[i-1]
	system := o.file.SymbolName(o.kind, &elffile.Symbol{NameOff: v.name})
	if name, _ = displayName(system); name == "" {
		return "", 0, false
	}
	return name, addr - v.addr, true
}

func (t *Table) readObjects() *objects {
	f := t.opt.File
	if f == nil {
		return &objects{}
	}
	if o := objectsOf(f, elffile.SymTab); o != nil {
		return o
	}
	if d := t.debugFile(); d != nil {
		if o := objectsOf(d.File, elffile.SymTab); o != nil {
			return o
		}
	}
	if o := objectsOf(f, elffile.DynSym); o != nil {
		return o
	}
	return &objects{}
}

func objectsOf(f *elffile.File, kind elffile.SymbolKind) *objects {
	o := &objects{file: f, kind: kind}
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool { // a damaged table: as far as readable
		if !isObject(s) {
			return true
		}
		o.list = append(o.list, object{s.Value, s.Size, s.NameOff})
		return f.Memory().Take(objectCost, "symbols") == nil
	})
	if len(o.list) == 0 {
		return nil
	}
	slices.SortStableFunc(o.list, func(a, b object) int {
		return cmp.Or(cmp.Compare(a.addr, b.addr),
			cmp.Compare(a.size, b.size))
	})
	return o
}

func isObject(s *elffile.Symbol) bool {
	return s.Type() == elf.STT_OBJECT && s.Section != elf.SHN_UNDEF && s.Size > 0 && s.NameOff != 0
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

type functionBounds struct {
	cfi   *dwarfunwind.Table
	tried bool
}

// addressFrame names a function of a file without .symtab by its address, "prog+0x1600", unless a distribution
// installed the file: for those there are debug packages.
func (t *Table) addressFrame(addr uint64) (Frame, bool) {
	if t.opt.File == nil || t.opt.Path == "" || t.opt.Path[0] == '[' || unnamedcode.IsFromDistribution(t.opt.Path) {
		return Frame{}, false
	}
	if t.opt.File.Section(".symtab") != nil { // not stripped: no function
		return Frame{}, false
	}
	b := &t.bounds
	if !b.tried {
		b.tried = true
		b.cfi = loadedcode.CFI(t.opt.File, false)
	}
	if b.cfi == nil {
		return Frame{}, false
	}
	start, _, ok := b.cfi.FuncRange(addr)
	if !ok {
		return Frame{}, false
	}
	return Frame{Name: fmt.Sprintf("%s+%#x", path.Base(t.opt.Path), start)}, true
}
