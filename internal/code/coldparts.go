// SPDX-License-Identifier: Apache-2.0

package code

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"prywalk/internal/elffile"
)

// coldParts knows which functions the parts were split off that compilers move away from the code that runs often.
// GCC and LLVM call such a part like its function, with .cold appended, older GCCs and BOLT with .cold.N. It is
// made when a part is first asked for, from all symbol names.
type coldParts struct {
	elf   *elffile.File
	from  *separate
	built bool
	parts []coldPart
}

// coldPart is a part and the function that it belongs to.
type coldPart struct {
	start  uint64
	parent funcRange
}

// Parent gives the function that the part at start was split off.
func (c *coldParts) Parent(start uint64) (lo, hi uint64, ok bool) {
	if !c.built {
		c.built = true
		c.build()
	}
	i, ok := slices.BinarySearchFunc(c.parts, start, func(p coldPart, start uint64) int {
		return cmp.Compare(p.start,
			start)
	})
	if !ok {
		return 0, 0, false
	}
	return c.parts[i].parent.start, c.parts[i].parent.end, true
}

// named is a function under the name that its part derives from. Compilation units are numbered as they come in the
// symbol table. A local function belongs to the last one that was named before it (gABI, STT_FILE), a global one to
// none.
type named struct {
	funcRange
	name string
	unit int
}

// build collects the parts, and then the functions that they can have been split off.
func (c *coldParts) build() {
	eachTable(c.elf, c.from, func(f *elffile.File, kind elffile.SymbolKind) {
		if kind != elffile.SymTab {
			return // parts are local: the dynamic linker does not need them
		}
		cold := collect(f, func(name []byte) []byte {
			base, tail, ok := bytes.Cut(name, []byte(".cold"))
			if !ok || len(base) == 0 || len(bytes.Trim(tail, ".0123456789")) > 0 {
				return nil
			}
			return base
		})
		if len(cold) == 0 {
			return
		}
		names := map[string]bool{}
		for i := range cold {
			names[cold[i].name] = true
		}
		whole := collect(f, func(name []byte) []byte {
			if !names[string(name)] {
				return nil
			}
			return name
		})
		c.match(cold, whole)
	})
	sort.Slice(c.parts, func(i, j int) bool { return c.parts[i].start < c.parts[j].start })
}

// coldCost is what a function takes in the lists and maps here, beside its name, in bytes.
const coldCost = 4 * 64

// collect gives the functions of a table that take has a name for. Names are cut after 4 KiB.
func collect(f *elffile.File, take func([]byte) []byte) []named {
	var out []named
	unit, i := 0, 0
	_ = f.EachSymbol(elffile.SymTab, func(s *elffile.Symbol) bool { // what can be read of a damaged table
		i++
		if s.Type() == elffile.SymFile {
			unit = i
			return true
		}
		end := s.Value + s.Size
		if s.Type() != elffile.SymFunc && s.Type() != elffile.SymNoType || s.Section == elffile.SectionUndef ||
			end <= s.Value {
			return true
		}
		name := take(f.PeekName(elffile.SymTab, s))
		if len(name) == 0 {
			return true
		}
		if f.Memory().Take(coldCost+int64(len(name)), "parts of functions") != nil {
			return false
		}
		n := named{funcRange{s.Value, end}, string(name), unit}
		if s.Bind() != elffile.BindLocal {
			n.unit = 0
		}
		out = append(out, n)
		return true
	})
	return out
}

// match finds each part's function: the one of that name in the same unit, else the
// only global one. Static functions of one name are told apart so.
func (c *coldParts) match(cold, whole []named) {
	type key struct {
		name string
		unit int
	}
	at := map[key]funcRange{}
	for _, w := range whole {
		at[key{w.name, w.unit}] = w.funcRange
	}
	for _, p := range cold {
		parent, ok := at[key{p.name, p.unit}]
		if !ok {
			parent, ok = at[key{p.name, 0}]
		}
		if ok {
			c.parts = append(c.parts, coldPart{p.start, parent})
		}
	}
}
