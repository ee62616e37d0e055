// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"prywalk/dwarfunwind"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
)

type files struct {
	proc     *loadedcode.Process
	names    map[*loadedcode.Image]*namer
	tables   map[*loadedcode.Image]*dwarfunwind.Table
	emptyCFI map[uint64]bool
}

func newFiles(p *loadedcode.Process) *files {
	return &files{proc: p, names: map[*loadedcode.Image]*namer{}, tables: map[*loadedcode.Image]*dwarfunwind.Table{},
		emptyCFI: map[uint64]bool{}}
}

type namer struct{ funcs []span }

func symbolSpans(f *elffile.File) []span {
	var out []span
	for _, kind := range []elffile.SymbolKind{elffile.SymTab, elffile.DynSym} {
		syms, _ := f.Symbols(kind)
		for i := range syms {
			s := &syms[i]
			if t := s.Type(); (t == elf.STT_FUNC || t == elf.STT_GNU_IFUNC) && s.Section != elf.SHN_UNDEF &&
				s.Size > 0 {
				out = append(out, span{s.Value, s.Value + s.Size, f.SymbolName(kind, s)})
			}
		}
	}
	return out
}

func pltSpans(f *elffile.File) []span {
	var out []span
	for _, t := range f.PLTs() {
		for start, end, ok := t.FuncRange(t.Section.Addr); ok; start, end, ok = t.FuncRange(end) {
			out = append(out, span{start, end, t.Section.Name})
		}
	}
	return out
}

func sortSpans(s []span) {
	sort.SliceStable(s, func(i, j int) bool {
		return s[i].start < s[j].start || s[i].start == s[j].start && s[i].end < s[j].end
	})
}

func (fs *files) locate(pc uint64) (module, function string, addr uint64) {
	m := fs.proc.Space().ModuleAt(pc)
	if m == nil {
		return "?", "?", pc
	}
	addr = pc - m.Bias
	at := loadedcode.MappingOf(m)
	if at == nil || at.Image == nil {
		return filepath.Base(m.Name), "?", addr
	}
	n := fs.names[at.Image]
	if n == nil {
		n = &namer{append(pltSpans(at.Image.ELF), symbolSpans(at.Image.ELF)...)}
		sortSpans(n.funcs)
		fs.names[at.Image] = n
	}
	if s := findSpan(n.funcs, addr); s != nil {
		return filepath.Base(m.Name), s.name, addr
	}
	if start, ok := m.Calls.FuncStart(addr); ok {
		return filepath.Base(m.Name), fmt.Sprintf("%#x", start), addr
	}
	return filepath.Base(m.Name), "?", addr
}

func (fs *files) funcName(pc uint64) string {
	_, f, _ := fs.locate(pc)
	return f
}

func (fs *files) chainText(c []want) string {
	var b strings.Builder
	for i, w := range c {
		if i == 12 {
			fmt.Fprintf(&b, " … %d more", len(c)-i)
			break
		}
		m, f, addr := fs.locate(w.pc)
		fmt.Fprintf(&b, "\n      %#x sp %#x %s %s %#x", w.pc, w.sp, m, f, addr)
	}
	return b.String()
}
