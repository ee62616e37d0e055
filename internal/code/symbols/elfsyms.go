// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sort"

	"prywalk/internal/code/elffile"
)

type symbol struct {
	addr uint64
	size uint32
	// name is an offset in the names of the source that the two upper bits select.
	name uint32
}

// There are at most three sources: .symtab, the file's own or its debug file's, or .dynsym and .gnu_debugdata; and PLT
// entries.
const (
	sourceShift = 30
	nameMask    = 1<<sourceShift - 1
)

type nameSource struct {
	file *elffile.File
	kind elffile.SymbolKind
	list []string
}

type symIndex struct {
	syms    []symbol
	sources []nameSource
	code    []extent
}

type extent struct{ lo, hi uint64 }

type candidate struct {
	symbol symbol
	rank   uint8
}

// Parts of a rank, least important first.
const (
	rankGlobal = 1 << iota // or weak
	rankSized
	rankFunc
)

type builder struct {
	x          *symIndex
	rankOf     func(*elffile.Symbol) (rank uint8, ok bool)
	candidates []candidate
	free       []func() // of the names
}

func codeOf(f *elffile.File) []extent {
	var out []extent
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Flags&elf.SHF_EXECINSTR != 0 && s.Addr+s.Size > s.Addr {
			out = append(out, extent{s.Addr, s.Addr + s.Size})
		}
	}
	if len(out) == 0 {
		for i := range f.Segments {
			if s := &f.Segments[i]; s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && s.VAddr+s.MemSize > s.VAddr {
				out = append(out, extent{s.VAddr, s.VAddr + s.MemSize})
			}
		}
	}
	slices.SortFunc(out, func(a, b extent) int { return cmp.Compare(a.lo, b.lo) })
	return out
}

func (x *symIndex) codeEnd(addr uint64) uint64 {
	i := sort.Search(len(x.code), func(i int) bool { return x.code[i].lo > addr })
	if i == 0 || addr >= x.code[i-1].hi {
		return 0
	}
	return x.code[i-1].hi
}

const symbolCost = 24 + 16 // bytes

const maxAtOnce = 1 << 17

// addTable returns false if there is no symbol with a rank, or no memory for them.
func (b *builder) addTable(f *elffile.File, kind elffile.SymbolKind) bool {
	count := f.CountSymbols(kind)
	cost := int64(count) * symbolCost
	if f.Memory().Take(cost, "symbols") != nil {
		return false
	}
	src := uint32(len(b.x.sources)) << sourceShift
	before := len(b.candidates)
	b.candidates = slices.Grow(b.candidates, min(count, maxAtOnce))
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool { // a damaged table: as far as readable
		if rank, ok := b.rankOf(s); ok && s.NameOff <= nameMask {
			size := uint32(min(s.Size, 1<<32-1))
			b.candidates = append(b.candidates, candidate{symbol{s.Value, size, s.NameOff | src}, rank})
		}
		return true
	})
	added := len(b.candidates) - before
	if f.Memory().Give(cost - int64(added)*symbolCost); added == 0 {
		return false
	}
	b.x.sources = append(b.x.sources, nameSource{file: f, kind: kind})
	b.free = append(b.free, f.HoldNames(kind))
	return true
}

// rankOf is of functions and labels.
func (x *symIndex) rankOf(s *elffile.Symbol) (rank uint8, ok bool) {
	if s.Section == elf.SHN_UNDEF || s.NameOff == 0 || x.codeEnd(s.Value) == 0 {
		return 0, false
	}
	switch s.Type() {
	case elf.STT_FUNC, elf.STT_GNU_IFUNC:
		rank = rankFunc
	case elf.STT_NOTYPE:
	default:
		return 0, false
	}
	if s.Size > 0 {
		rank |= rankSized
	}
	if s.Bind() != elf.STB_LOCAL {
		rank |= rankGlobal
	}
	return rank, true
}

func (x *symIndex) addStubs(stubs []symbol, names []string) {
	if len(stubs) == 0 {
		return
	}
	src := uint32(len(x.sources)) << sourceShift
	for i := range stubs {
		stubs[i].name = uint32(i) | src
	}
	x.syms = append(x.syms, stubs...)
	x.sources = append(x.sources, nameSource{list: names})
	slices.SortStableFunc(x.syms, func(p, q symbol) int { return cmp.Compare(p.addr, q.addr) })
	x.syms = slices.CompactFunc(x.syms, func(p, q symbol) bool { return p.addr == q.addr })
}

func (x *symIndex) linkageName(addr uint64) string {
	if s := x.find(addr); s != nil {
		return x.name(s.name)
	}
	return ""
}

func (b *builder) finish() {
	slices.SortFunc(b.candidates, func(p, q candidate) int {
		if p.symbol.addr != q.symbol.addr {
			return cmp.Compare(p.symbol.addr, q.symbol.addr)
		}
		return cmp.Or(cmp.Compare(q.rank, p.rank), cmp.Compare(p.symbol.name, q.symbol.name))
	})
	x := b.x
	x.syms = make([]symbol, 0, len(b.candidates))
	var covered uint64
	for i := 0; i < len(b.candidates); {
		j := i + 1
		for j < len(b.candidates) && b.candidates[j].symbol.addr == b.candidates[i].symbol.addr {
			j++
		}
		best := b.choose(b.candidates[i:j])
		i = j
		if best.rank&rankFunc == 0 && (best.symbol.addr < covered ||
			bytes.HasPrefix(x.bytesAt(best.symbol.name), []byte("$"))) {
			continue // a label within a function; "$x" marks code (AAELF64 §5.5.5)
		}
		if best.rank&rankFunc != 0 {
			covered = max(covered, best.symbol.addr+uint64(best.symbol.size))
		}
		x.syms = append(x.syms, best.symbol)
	}
	b.candidates = nil
	for _, free := range b.free {
		free()
	}
	x.setMissingSizes()
}

func (b *builder) choose(same []candidate) candidate {
	best := same[0]
	if len(same) == 1 || same[1].rank < best.rank {
		return best
	}
	key := nameRank(b.x.bytesAt(best.symbol.name))
	for _, c := range same[1:min(len(same), maxAliases)] {
		if c.rank < best.rank {
			break
		}
		if k := nameRank(b.x.bytesAt(c.symbol.name)); k < key {
			best, key = c, k
		}
	}
	return best
}

const maxAliases = 64

// nameRank rates a name for display; less is better.
func nameRank(name []byte) int {
	rank := len(name)
	if !isMangled(string(name[:min(len(name), 4)])) { // the first 4 bytes decide
		rank += 1000 * (len(name) - len(bytes.TrimLeft(name, "_")))
	}
	if i := bytes.IndexByte(name, '@'); i > 0 && !bytes.HasPrefix(name[i:], []byte("@@")) {
		rank += 500 // old version
	}
	return rank
}

func (x *symIndex) bytesAt(at uint32) []byte {
	src := &x.sources[at>>sourceShift]
	return src.file.NameBytes(src.kind, &elffile.Symbol{NameOff: at & nameMask})
}

func (x *symIndex) name(at uint32) string {
	src := &x.sources[at>>sourceShift]
	if src.list != nil {
		return src.list[at&nameMask]
	}
	return src.file.SymbolName(src.kind, &elffile.Symbol{NameOff: at & nameMask})
}

const maxNested = 16

func (x *symIndex) find(addr uint64) *symbol {
	i := sort.Search(len(x.syms), func(i int) bool { return x.syms[i].addr > addr })
	for n := 0; i > 0 && n < maxNested; n++ {
		i--
		if s := &x.syms[i]; addr-s.addr < uint64(s.size) {
			return s
		}
	}
	return nil
}
