// SPDX-License-Identifier: Apache-2.0

// Package v8 knows where the code is that V8's own compiler has made when a program was built. How its frames look is
// in package heuristics (v8.go), which finds them by their instructions.
package v8

import (
	"bytes"
	"encoding/binary"

	"prywalk/internal/elffile"
)

// Builtins is the code that V8's own compiler has made when a program was built: its builtins, which lie in the
// program's file. Like the code that V8 makes at run time they keep no register but the frame pointer. The file has
// symbols for where they begin and for the word with their size (EmbeddedFileWriter in V8's src/snapshot/embedded).
// They are looked for when code is first met that nothing describes.
type Builtins struct {
	elf    *elffile.File
	tables Tables
	found  bool
	code   span
}

// Tables calls yield for the symbol tables that know a file's functions, its own or those of its debug file.
type Tables func(yield func(f *elffile.File, kind elffile.SymbolKind))

// New prepares for looking in a file. Nothing is read yet.
func New(f *elffile.File, tables Tables) *Builtins { return &Builtins{elf: f, tables: tables} }

// span is a range of addresses.
type span struct{ start, end uint64 }

// The names of those symbols begin and end so; between is the name of the variant.
const (
	embeddedBegins = "v8_"
	embeddedCode   = "_embedded_blob_code_"
	embeddedSize   = "_embedded_blob_code_size_"
)

// KeepsFPOnly reports whether pc is in that code.
func (e *Builtins) KeepsFPOnly(pc uint64) bool {
	if !e.found {
		e.found = true
		e.tables(e.find)
	}
	return pc >= e.code.start && pc < e.code.end
}

// find looks for the symbols in a table.
func (e *Builtins) find(f *elffile.File, kind elffile.SymbolKind) {
	var begin, size uint64
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool { // what can be read of a damaged table
		if s.Type() != elffile.SymNoType || s.Size != 0 || s.Section == elffile.SectionUndef {
			return true
		}
		switch name := f.PeekName(kind, s); {
		case !bytes.HasPrefix(name, []byte(embeddedBegins)):
		case bytes.HasSuffix(name, []byte(embeddedCode)):
			begin = s.Value
		case bytes.HasSuffix(name, []byte(embeddedSize)):
			size = s.Value
		}
		return true
	})
	var b [4]byte
	if begin == 0 || size == 0 || e.elf.ReadAddr(size, b[:]) != len(b) {
		return
	}
	if end := begin + uint64(binary.LittleEndian.Uint32(b[:])); end > begin {
		e.code = span{start: begin, end: end}
	}
}
