// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// SymbolKind selects a symbol table.
type SymbolKind uint8

// The symbol tables.
const (
	SymTab SymbolKind = iota // .symtab; strip removes it
	DynSym                   // .dynsym: for the dynamic linker
)

// Symbol is an entry of a symbol table.
type Symbol struct {
	// Value is the address before the load bias (ET_EXEC and ET_DYN).
	Value uint64
	// Size is in bytes, 0 if unknown.
	Size uint64
	// NameOff is in the string table.
	NameOff uint32
	// Section is an index, or special (from 0xff00 on).
	Section elf.SectionIndex
	info    uint8
}

// Type returns the symbol's type.
func (s *Symbol) Type() elf.SymType { return elf.ST_TYPE(s.info) }

// Bind returns the symbol's binding.
func (s *Symbol) Bind() elf.SymBind { return elf.ST_BIND(s.info) }

const (
	symbolSize = 24
	// A large browser has a sixteenth of that.
	maxSymbols  = 8 << 20
	symbolChunk = 4096
)

type symbolSource struct {
	tried bool
	names *Window
}

func (k SymbolKind) section(f *File) *Section {
	want := elf.SHT_SYMTAB
	if k == DynSym {
		want = elf.SHT_DYNSYM
	}
	for i := range f.Sections {
		if f.Sections[i].Type == want {
			return &f.Sections[i]
		}
	}
	return nil
}

// HasSymbols reports whether the table has contents.
func (f *File) HasSymbols(kind SymbolKind) bool {
	s := kind.section(f)
	return s != nil && s.Size > symbolSize
}

// Symbols returns a table in the file's order, without the null symbol, until [File.FreeSymbols]. The error is
// ErrNoSection, errTooBig, a *filememory.Error or a *FormatError, perhaps wrapped, or comes from reading. With an error
// the table ends before the unreadable part.
func (f *File) Symbols(kind SymbolKind) ([]Symbol, error) {
	t, err := f.symbolTable(kind)
	if t.entries <= 1 {
		return nil, err
	}
	if err := f.memory.Take(int64(t.entries-1)*symbolSize, "symbol table"); err != nil {
		return nil, err
	}
	syms := make([]Symbol, 0, t.entries-1)
	err = t.each(func(s *Symbol) bool {
		syms = append(syms, *s)
		return true
	})
	return syms, err
}

// EachSymbol calls each until it returns false; s is valid during the call.
func (f *File) EachSymbol(kind SymbolKind, each func(*Symbol) bool) error {
	t, err := f.symbolTable(kind)
	if t.entries <= 1 {
		return err
	}
	return t.each(each)
}

// CountSymbols returns the number by the table's size.
func (f *File) CountSymbols(kind SymbolKind) int {
	t, _ := f.symbolTable(kind) // 0 entries on error
	return int(max(t.entries, 1) - 1)
}

type symbolTable struct {
	window  *Window
	entries uint64 // with the null symbol
}

func (f *File) symbolTable(kind SymbolKind) (symbolTable, error) {
	w, err := f.Window(kind.section(f))
	if err != nil {
		return symbolTable{}, fmt.Errorf("symbol table: %w", err)
	}
	n := w.size / symbolSize
	if n > maxSymbols {
		return symbolTable{}, fmt.Errorf("symbol table of %d entries: %w", n, errTooBig)
	}
	return symbolTable{w, n}, nil
}

// each skips the null symbol.
func (t *symbolTable) each(f func(*Symbol) bool) error {
	var buf []byte
	for i := uint64(1); i < t.entries; i += symbolChunk {
		step := min(t.entries-i, symbolChunk)
		b, err := t.read(&buf, i*symbolSize, step*symbolSize)
		if err != nil {
			return err
		}
		for ; len(b) >= symbolSize; b = b[symbolSize:] {
			s := parseSymbol(b)
			if !f(&s) {
				return nil
			}
		}
	}
	return nil
}

// read returns bytes that are valid until the next call. A view would keep blocks of a table that is read once.
func (t *symbolTable) read(buf *[]byte, off, n uint64) ([]byte, error) {
	if t.window.whole != nil {
		return t.window.View(off, int(n))
	}
	if *buf == nil {
		*buf = make([]byte, n) // the first is the largest
	}
	b := (*buf)[:n]
	if got, err := t.window.r.ReadAt(b, int64(t.window.off+off)); got < len(b) {
		return nil, fmt.Errorf("reading symbols: %w", shortRead(err))
	}
	return b, nil
}

func parseSymbol(b []byte) Symbol {
	le := binary.LittleEndian
	return Symbol{
		NameOff: le.Uint32(b), info: b[4], Section: elf.SectionIndex(le.Uint16(b[6:])), Value: le.Uint64(b[8:]),
		Size: le.Uint64(b[16:]),
	}
}

// FreeSymbols releases a table from Symbols.
func (f *File) FreeSymbols(syms []Symbol) { f.memory.Give(int64(cap(syms)) * symbolSize) }

// SymbolName returns a name of that table, cut after 64 KiB; "" if none.
func (f *File) SymbolName(kind SymbolKind, s *Symbol) string { return string(f.NameBytes(kind, s)) }

// maxString is in bytes. Names of C++ templates reach tens of kilobytes.
const maxString = 64 << 10

// NameBytes is SymbolName without a copy, valid until the next call.
func (f *File) NameBytes(kind SymbolKind, s *Symbol) []byte {
	return f.names(kind).CString(uint64(s.NameOff), maxString)
}

func (f *File) names(kind SymbolKind) *Window {
	src := &f.symbols[kind&1]
	if !src.tried {
		src.tried = true
		src.names, _ = f.WindowUpTo(f.nameTable(kind), maxData) // nil on error
	}
	return src.names
}

// maxHeldNames is the most bytes that [File.HoldNames] reads.
const maxHeldNames = 128 << 20

// HoldNames reads a table's names as a whole until free, if they are not too large: symbols are not in their order.
func (f *File) HoldNames(kind SymbolKind) (free func()) {
	src := &f.symbols[kind&1]
	if src.names != nil && src.names.whole != nil {
		return func() {}
	}
	s := f.nameTable(kind)
	if s == nil || s.Size > maxHeldNames || !f.memory.TakeSpare(int64(s.Size)) {
		return func() {}
	}
	f.memory.Give(int64(s.Size))
	data, err := f.Data(s)
	if err != nil {
		return func() {}
	}
	before := *src // its blocks stay charged
	*src = symbolSource{tried: true, names: InMemory(data)}
	return func() {
		*src = before
		f.Free(data)
	}
}

// EachNamed calls each for the symbols with one of these names (by index), in the file's order, until it returns false.
// Unreadable entries are skipped.
func (f *File) EachNamed(kind SymbolKind, names []string, each func(name int, s *Symbol) bool) {
	if f.CountSymbols(kind) == 0 {
		return
	}
	index, longest := map[string]int{}, 0
	for i, name := range names {
		index[name], longest = i, max(longest, len(name))
	}
	defer f.HoldNames(kind)()
	table, buf := f.names(kind), make([]byte, longest+1)
	if table == nil {
		return
	}
	_ = f.EachSymbol(kind, func(s *Symbol) bool { // a damaged table: as far as readable
		i, ok := index[string(table.shortString(uint64(s.NameOff), buf))]
		return !ok || each(i, s)
	})
}

func (f *File) nameTable(kind SymbolKind) *Section {
	s := kind.section(f)
	if s == nil || uint64(s.Link) >= uint64(len(f.Sections)) {
		return nil
	}
	return &f.Sections[s.Link]
}
