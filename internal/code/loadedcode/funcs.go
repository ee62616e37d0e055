// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"

	"prywalk/internal/code/elffile"
)

type funcIndex struct {
	*fileSymbols
	built bool
	funcs []funcRange
}

// funcRange is [start, end) in file addresses; end is 0 for a symbol without size.
type funcRange struct{ start, end uint64 }

const funcCost = 2 * 16 // bytes

// FuncRange returns the bounds of the function at pc, a file address.
func (x *funcIndex) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if !x.built {
		x.built = true
		x.Tables(func(f *elffile.File, kind elffile.SymbolKind) { _ = f.EachSymbol(kind, x.add) }) // a damaged table: as far as readable
		slices.SortFunc(x.funcs, compareRanges)
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

type pltStubs []elffile.PLT

// FuncRange implements heuristics.Functions.
func (s pltStubs) FuncRange(pc uint64) (start, end uint64, ok bool) {
	for i := range s {
		if start, end, ok = s[i].Range(pc); ok {
			return start, end, ok
		}
	}
	return 0, 0, false
}

func compareRanges(a, b funcRange) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
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
	if x.elf.Memory().Take(funcCost, "functions") != nil {
		x.funcs = nil // a part would have wrong ends
		return false
	}
	x.funcs = append(x.funcs, f)
	return true
}
