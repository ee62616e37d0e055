// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sort"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

// coldParts maps cold parts to functions: NAME.cold (GCC, LLVM), NAME.cold.N (older GCCs, BOLT).
type coldParts struct {
	symbols *fileSymbols
	built   bool
	parts   []coldPart
}

type coldPart struct {
	start  frames.ModuleAddr
	parent funcRange
}

// Parent returns the function of the cold part that begins at start.
func (c *coldParts) Parent(start frames.ModuleAddr) (lo, hi frames.ModuleAddr, ok bool) {
	if !c.built {
		c.built = true
		c.build()
	}
	i, ok := slices.BinarySearchFunc(c.parts, start, func(p coldPart, at uint64) int { return cmp.Compare(p.start, at) })
	if !ok {
		return 0, 0, false
	}
	return c.parts[i].parent.start, c.parts[i].parent.end, true
}

// funcSymbol's unit is the number of its STT_FILE symbol (gABI) if it is local.
type funcSymbol struct {
	bounds funcRange
	name   string
	unit   int
}

func (c *coldParts) build() {
	c.symbols.Tables(func(f *elffile.File, kind elffile.SymbolKind) {
		if kind != elffile.SymTab {
			return
		}
		cold := collectFuncSymbols(f, func(name []byte) []byte {
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
		whole := collectFuncSymbols(f, func(name []byte) []byte {
			if !names[string(name)] {
				return nil
			}
			return name
		})
		// The function is in the cold part's unit, else a global one.
		type key struct {
			name string
			unit int
		}
		at := map[key]funcRange{}
		for _, w := range whole {
			at[key{w.name, w.unit}] = w.bounds
		}
		for _, p := range cold {
			parent, ok := at[key{p.name, p.unit}]
			if !ok {
				parent, ok = at[key{p.name, 0}]
			}
			if ok {
				c.parts = append(c.parts, coldPart{p.bounds.start, parent})
			}
		}
	})
	slices.SortFunc(c.parts, func(a, b coldPart) int { return cmp.Compare(a.start, b.start) })
}

const coldCost = 4 * 64 // bytes

func collectFuncSymbols(f *elffile.File, take func([]byte) []byte) []funcSymbol {
	var out []funcSymbol
	unit, i := 0, 0
	_ = f.EachSymbol(elffile.SymTab, func(s *elffile.Symbol) bool {
		i++
		if s.Type() == elf.STT_FILE {
			unit = i
			return true
		}
		end := s.Value + s.Size
		if s.Type() != elf.STT_FUNC && s.Type() != elf.STT_NOTYPE || s.Section == elf.SHN_UNDEF ||
			end <= s.Value {
			return true
		}
		name := take(f.NameBytes(elffile.SymTab, s))
		if len(name) == 0 {
			return true
		}
		if f.Memory().Take(coldCost+int64(len(name)), "parts of functions") != nil {
			return false
		}
		n := funcSymbol{funcRange{s.Value, end}, string(name), unit}
		if s.Bind() != elf.STB_LOCAL {
			n.unit = 0
		}
		out = append(out, n)
		return true
	})
	return out
}

type funcIndex struct {
	symbols *fileSymbols
	built   bool
	funcs   []funcRange
}

// funcRange is [start, end); end is 0 for a symbol without size.
type funcRange struct{ start, end frames.ModuleAddr }

const funcCost = 2 * 16 // bytes

// FuncRange returns the bounds of the function at pc.
func (x *funcIndex) FuncRange(pc frames.ModuleAddr) (start, end frames.ModuleAddr, ok bool) {
	if !x.built {
		x.built = true
		x.symbols.Tables(func(f *elffile.File, kind elffile.SymbolKind) {
			_ = f.EachSymbol(kind, x.add) // a damaged table: as far as readable
		})
		slices.SortFunc(x.funcs, func(a, b funcRange) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
		})
		x.funcs = slices.CompactFunc(x.funcs, func(a, b funcRange) bool { return a.start == b.start })
		x.funcs = slices.Clip(x.funcs)
	}
	i := sort.Search(len(x.funcs), func(i int) bool { return x.funcs[i].start > pc })
	if i == 0 {
		return 0, 0, false
	}
	f := x.funcs[i-1]
	if f.end == 0 && i < len(x.funcs) {
		f.end = x.funcs[i].start
	}
	return f.start, f.end, pc < f.end
}

func (x *funcIndex) add(s *elffile.Symbol) bool {
	t := s.Type()
	if t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC || s.Section == elf.SHN_UNDEF {
		return true
	}
	f := funcRange{start: s.Value}
	if s.Size != 0 {
		if f.end = s.Value + s.Size; f.end < f.start {
			return true
		}
	}
	if x.symbols.elf.Memory().Take(funcCost, "functions") != nil {
		x.funcs = nil // a part would have wrong ends
		return false
	}
	x.funcs = append(x.funcs, f)
	return true
}
