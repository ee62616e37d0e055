// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"prywalk/dwarfunwind"
	"prywalk/internal/code/elffile"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols/dwarfinfo"
	"prywalk/internal/walk/managed"
)

// Sources are what a [Table] reads.
type Sources struct {
	// File is the ELF file; nil means that there are Language's functions only.
	File *elffile.File
	// Path is the file's path in the process, to find debug files, or "".
	Path string
	// Open opens a debug file by its path below the process's root, until Table.Close; nil means no search.
	Open elffile.Opener
	// Language is a compiler's own table in the file (Go's), or nil.
	Language managed.FileTable
}

// Table symbolizes addresses of one file. Not safe for concurrent use.
type Table struct {
	from    Sources
	syms    *symIndex
	debug   debugFiles
	dwarf   *dwarfinfo.Data
	calls   []dwarfinfo.Call
	objects *symIndex                 // nil until first used
	cfi     func() *dwarfunwind.Table // nil means none

	dwarfTried bool
	warnings   []error
}

// New reads nothing yet.
func New(from Sources) *Table {
	return &Table{from: from, cfi: sync.OnceValue(func() *dwarfunwind.Table { return loadedcode.CFI(from.File, false) })}
}

// Frames appends the calls at addr, innermost inlined first. addr is within the instruction: return address − 1.
func (t *Table) Frames(addr uint64, out []Frame) []Frame {
	start := len(out)
	if t.from.Language != nil {
		if out = t.from.Language.Lines(addr, out); len(out) > start {
			for i := start; i < len(out); i++ {
				if isMangled(out[i].System) {
					out[i].Name, _ = displayName(out[i].System)
				}
			}
			return out
		}
	}
	t.calls = t.dwarfCalls(addr, t.calls[:0])
	for i := range t.calls {
		if f, ok := t.frame(&t.calls[i], addr); ok {
			out = append(out, f)
		}
	}
	if f := (Frame{}); len(out) == start && t.fromSymbol(&f, addr) {
		out = append(out, f)
	}
	if len(out) == start {
		if f, ok := t.addressFrame(addr); ok {
			out = append(out, f)
		}
	}
	return out
}

// Warnings lists damaged or unfitting debug files; missing ones are no fault.
func (t *Table) Warnings() []error { return t.warnings }

// Close closes the debug files. The table is invalid afterwards.
func (t *Table) Close() error { return t.debug.close() }

// dwarfCalls drops debug information after a panic of its reader.
func (t *Table) dwarfCalls(addr uint64, out []dwarfinfo.Call) (calls []dwarfinfo.Call) {
	defer func() {
		if r := recover(); r != nil {
			t.warn(fmt.Errorf("debug information of %s is not used: reading it failed: %v", t.from.Path, r))
			t.dwarf, calls = nil, out
		}
	}()
	if !t.dwarfTried {
		t.dwarfTried = true
		t.loadDwarf()
	}
	if t.dwarf == nil {
		return out
	}
	return t.dwarf.Calls(addr, out)
}

// frame describes a call, or false if it has no name.
func (t *Table) frame(c *dwarfinfo.Call, addr uint64) (Frame, bool) {
	f := Frame{File: c.File, Line: c.Line, Inlined: c.Inlined}
	if c.Func == nil || c.Func.Name == "" && c.Func.Linkage == "" {
		ok := !c.Inlined && t.fromSymbol(&f, addr)
		return f, ok
	}
	f.StartLine = c.Func.Line
	t.nameFunc(&f, c, addr)
	return f, true
}

func (t *Table) fromSymbol(f *Frame, addr uint64) bool {
	s := t.symbols().find(addr)
	if s == nil {
		return false
	}
	f.System = cutVersion(t.syms.name(s.name))
	f.Name, _ = displayName(f.System)
	return f.Name != ""
}

// nameFunc prefers a demangled linkage name, then a better ELF symbol, then the source's name.
func (t *Table) nameFunc(f *Frame, c *dwarfinfo.Call, addr uint64) {
	f.Name, f.System = c.Func.Name, c.Func.Name
	if c.Func.Linkage != "" {
		name, demangled := displayName(c.Func.Linkage)
		f.System = c.Func.Linkage
		if demangled || f.Name == "" {
			f.Name = name
		}
		if demangled {
			return
		}
	}
	if !c.Inlined {
		t.preferSymbol(f, addr)
	}
}

// preferSymbol takes the ELF symbol's name if it is better: debug information can lack the mangled name (GCC's copies
// of C++ functions), or have an internal one (__libc_malloc).
func (t *Table) preferSymbol(f *Frame, addr uint64) {
	s := t.symbols().find(addr)
	if s == nil {
		return
	}
	system := strings.TrimSuffix(cutVersion(t.syms.name(s.name)), ".cold")
	base, _ := cutCloneSuffix(system)
	name, demangled := displayName(system)
	switch {
	case base == "":
	case base == f.Name || strings.HasSuffix(f.Name, "::"+base):
		f.System = system
	case demangled || !isMangled(base) && underscores(base) < underscores(f.Name):
		f.Name, f.System = name, system
	}
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

func (t *Table) symbols() *symIndex {
	if t.syms != nil {
		return t.syms
	}
	t.syms = new(symIndex)
	f := t.from.File
	if f == nil {
		return t.syms
	}
	t.syms.code = codeOf(f)
	b := builder{x: t.syms, rankOf: t.syms.rankOf}
	if !b.addTable(f, elffile.SymTab) {
		d := t.debugFile()
		if d == nil || !b.addTable(d.File, elffile.SymTab) {
			b.addTable(f, elffile.DynSym)
			if mini, err := f.MiniDebug(); err == nil {
				b.addTable(mini, elffile.SymTab)
			} else if !errors.Is(err, elffile.ErrNoSection) {
				t.warn(fmt.Errorf("%s: %w", t.from.Path, err))
			}
		}
	}
	b.finish()
	t.syms.addStubs(stubsOf(f, t.syms.linkageName))
	return t.syms
}

func (t *Table) warn(err error) {
	if len(t.warnings) < maxWarnings {
		t.warnings = append(t.warnings, err)
	}
}

const maxWarnings = 8
