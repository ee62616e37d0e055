// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"

	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/elffile"
)

const (
	maxCode    = 4096    // sections
	maxSymbols = 1 << 16 // functions
	maxName    = 1 << 10 // bytes of a name
	maxNames   = 8 << 20 // bytes of an image's functions, whose symbols may share a name
)

type image struct {
	cfi       *dwarfunwind.Table // nil: none
	code      []codeRange
	funcs     []function // by address
	size      int        // bytes
	namesSize int        // without cfi
}

type codeRange struct{ start, end uint64 }

type function struct {
	start, end uint64
	name       string
}

// Approximate memory, bytes.
const (
	rangeCost    = 64
	functionCost = 40
	imageCost    = 512
)

func (c *Code) open(e *entry) *image {
	img := &image{size: imageCost}
	b := make([]byte, e.size)
	if c.host.Read(e.image, b) < len(b) {
		return img
	}
	f, err := elffile.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return img
	}
	defer f.Release() // the image keeps copies, counted in its size
	if f.Arch() != c.host.Arch() {
		return img
	}
	img.addCode(f)
	if len(img.code) == 0 {
		return img
	}
	img.addFunctions(f)
	img.namesSize = img.size
	c.addCFI(img, f)
	return img
}

func (img *image) addCode(f *elffile.File) {
	for i := range f.Sections {
		if s := &f.Sections[i]; isCode(s) && len(img.code) < maxCode {
			img.code = append(img.code, codeRange{s.Addr, s.Addr + s.Size})
			img.size += rangeCost
		}
	}
}

func (img *image) addFunctions(f *elffile.File) {
	syms, _ := f.Symbols(elffile.SymTab) // the readable part of a damaged table
	for i := range syms {
		s := &syms[i]
		if len(img.funcs) == maxSymbols || img.size > maxNames {
			break
		}
		fn, ok := placed(f, s)
		if !ok {
			continue
		}
		name := f.SymbolName(elffile.SymTab, s)
		if name == "" {
			continue
		}
		fn.name = strings.Clone(name[:min(len(name), maxName)]) // frees the string table
		img.funcs = append(img.funcs, fn)
		img.size += functionCost + len(fn.name)
	}
	slices.SortStableFunc(img.funcs, func(a, b function) int { return cmp.Compare(a.start, b.start) })
	for i := 1; i < len(img.funcs); i++ {
		f := &img.funcs[i-1]
		if next := img.funcs[i].start; next > f.start {
			f.end = min(f.end, next)
		}
	}
}

// placed returns a function's addresses; false for other symbols. In a relocatable file addresses are relative to the
// section. Without a size a function reaches to the section's end.
func placed(f *elffile.File, s *elffile.Symbol) (fn function, ok bool) {
	if s.Type() != elffile.SymFunc || s.Section == elffile.SectionUndef || int(s.Section) >= len(f.Sections) {
		return fn, false
	}
	sec := &f.Sections[s.Section]
	if fn.start = s.Value; f.Type == elffile.TypeRel {
		fn.start += sec.Addr
	}
	end := sec.Addr + sec.Size
	if fn.end = fn.start + s.Size; s.Size == 0 {
		fn.end = end
	}
	return fn, isCode(sec) && fn.start >= sec.Addr && fn.end > fn.start && fn.end <= end
}

func isCode(s *elffile.Section) bool {
	const code = elffile.SecAlloc | elffile.SecExec
	return s.Flags&code == code && s.Addr != 0 && s.Addr+s.Size > s.Addr
}

func (img *image) name(pc uint64) (string, bool) {
	i := sort.Search(len(img.funcs), func(i int) bool { return img.funcs[i].start > pc })
	if i == 0 || pc >= img.funcs[i-1].end {
		return "", false
	}
	return img.funcs[i-1].name, true
}

func (img *image) rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if img == nil || img.cfi == nil {
		return frames.Rule{}, nil, false
	}
	return img.cfi.Rule(q)
}

func (c *Code) addCFI(img *image, f *elffile.File) {
	cfg := dwarfunwind.Config{Arch: c.host.Arch(), EhFrame: c.section(f, ".eh_frame"),
		DebugFrame: c.section(f, ".debug_frame")}
	// Text is unset: PHP's tables are relative to it and lack saved registers.
	t, err := dwarfunwind.New(cfg)
	if err != nil {
		return // the instructions decide
	}
	img.cfi = t
	img.size += int(cfg.EhFrame.Size + cfg.DebugFrame.Size)
}

func (img *image) dropCFI() {
	img.cfi = nil
	img.size = img.namesSize
}

// section returns the relocated contents.
func (c *Code) section(f *elffile.File, name string) dwarfunwind.Section {
	s := f.Section(name)
	if s == nil || s.Size == 0 || s.Size > maxImage || s.Flags&elffile.SecCompressed != 0 {
		return dwarfunwind.Section{}
	}
	if f.Section(".rela"+name) == nil {
		b, err := f.Data(s)
		if err != nil {
			return dwarfunwind.Section{}
		}
		return dwarfunwind.NewSection(s.Addr, b)
	}
	if s.Flags&elffile.SecAlloc == 0 || s.Addr == 0 {
		return dwarfunwind.Section{} // not relocated
	}
	b := make([]byte, s.Size)
	if c.host.Read(s.Addr, b) < len(b) {
		return dwarfunwind.Section{}
	}
	return dwarfunwind.NewSection(s.Addr, b)
}
