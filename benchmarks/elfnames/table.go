// SPDX-License-Identifier: Apache-2.0

package elfnames

import (
	"cmp"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const debugDir = "/usr/lib/debug/.build-id"

// Func is a function of a file.
type Func struct {
	// Start and End are addresses of the ELF file.
	Start, End uint64
	Name       string // linkage name; "": only the place is known
}

// Table has the functions of one file.
type Table struct {
	segments []elf.ProgHeader
	symbols  []Func
	unnamed  []Func
}

// Open reads the file's tables. names is the same file before strip; "": none.
func Open(path, names string) (*Table, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	t := &Table{}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			t.segments = append(t.segments, p.ProgHeader)
		}
	}
	t.add(f)
	for _, other := range []string{names, debugFile(f)} {
		if other == "" {
			continue
		}
		if g, err := elf.Open(other); err == nil {
			t.add(g)
			g.Close()
		}
	}
	t.unnamed = frameTable(f)
	slices.SortFunc(t.symbols, before)
	t.symbols = slices.CompactFunc(t.symbols, func(a, b Func) bool { return a.Start == b.Start && a.End == b.End })
	return t, nil
}

func before(a, b Func) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End),
		cmp.Compare(underscores(a.Name), underscores(b.Name)), cmp.Compare(len(a.Name), len(b.Name)),
		cmp.Compare(a.Name, b.Name))
}

func underscores(s string) int { return len(s) - len(strings.TrimLeft(s, "_")) }

func (t *Table) add(f *elf.File) {
	static, _ := f.Symbols()
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(static, dynamic...) {
		kind := elf.ST_TYPE(s.Info)
		if (kind == elf.STT_FUNC || kind == elf.STT_GNU_IFUNC) && s.Size > 0 && s.Section != elf.SHN_UNDEF &&
			s.Value+s.Size > s.Value {
			t.symbols = append(t.symbols, Func{s.Value, s.Value + s.Size, s.Name})
		}
	}
}

func debugFile(f *elf.File) string {
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	note, err := s.Data()
	if err != nil || len(note) < 18 || len(note) > 100 { // 16 bytes of header and name (gABI, Note Section)
		return ""
	}
	id := hex.EncodeToString(note[16:])
	path := filepath.Join(debugDir, id[:2], id[2:]+".debug")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// Address returns the ELF file's address of an offset in it.
func (t *Table) Address(offset uint64) (uint64, bool) {
	for _, p := range t.segments {
		if start := p.Off &^ 0xfff; offset >= start && offset < p.Off+p.Filesz {
			return p.Vaddr - (p.Off - start) + (offset - start), true
		}
	}
	return 0, false
}

// At returns the function at an offset in the file.
func (t *Table) At(offset uint64) (Func, bool) {
	addr, ok := t.Address(offset)
	if !ok {
		return Func{}, false
	}
	if f, ok := innermost(t.symbols, addr); ok {
		return f, true
	}
	return innermost(t.unnamed, addr)
}

// nested bounds the search among functions that begin before, as symbols can lie within others.
const nested = 32

func innermost(funcs []Func, addr uint64) (Func, bool) {
	i, _ := slices.BinarySearchFunc(funcs, addr, func(f Func, a uint64) int {
		if f.Start <= a {
			return -1
		}
		return 1
	})
	for j := i - 1; j >= max(0, i-nested); j-- {
		if addr < funcs[j].End {
			return firstOf(funcs, j), true
		}
	}
	return Func{}, false
}

func firstOf(funcs []Func, j int) Func {
	for j > 0 && funcs[j-1].Start == funcs[j].Start && funcs[j-1].End == funcs[j].End {
		j--
	}
	return funcs[j]
}
