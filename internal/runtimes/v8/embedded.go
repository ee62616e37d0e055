// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"encoding/binary"
	"slices"

	"prywalk/internal/elffile"
)

// Builtins is V8's code compiled at build time, in the program's file. Like run-time code it saves only the frame
// pointer. Symbols give its start and the word with its size (EmbeddedFileWriter in src/snapshot/embedded). They
// are read on first use.
type Builtins struct {
	elf    *elffile.File
	tables Tables
	found  bool
	code   span
	// continued are the starts of builtins that deoptimized functions return into.
	continued []uint64
}

// Tables calls yield for the symbol tables of a file and its debug file.
type Tables func(yield func(f *elffile.File, kind elffile.SymbolKind))

// New makes the Builtins of a file, which is read later.
func New(f *elffile.File, tables Tables) *Builtins { return &Builtins{elf: f, tables: tables} }

type span struct{ start, end uint64 }

func (s span) has(addr uint64) bool { return addr >= s.start && addr < s.end }

// Prefixes and suffixes of those symbols, around the variant.
const (
	embeddedBegins = "v8_"
	embeddedCode   = "_embedded_blob_code_"
	embeddedInside = "_embedded_blob_code_data_" // up to V8 10, where the other is a pointer to it
	embeddedSize   = "_embedded_blob_code_size_"
)

// KeepsFPOnly reports whether pc is in that code.
func (e *Builtins) KeepsFPOnly(pc uint64) bool {
	e.search()
	return e.code.has(pc)
}

func (e *Builtins) search() {
	if !e.found {
		e.found = true
		e.tables(e.find)
	}
}

// continues reports whether pc starts a builtin that functions return into, without a call
// (Deoptimizer::ContinuationForOutermost… in src/deoptimizer).
func (e *Builtins) continues(pc uint64) bool {
	e.search()
	return slices.Contains(e.continued, pc)
}

func isContinuation(name []byte) bool {
	name, ok := bytes.CutPrefix(name, []byte("Builtins_"))
	return ok && (bytes.Contains(name, []byte("EnterAt")) || bytes.HasSuffix(name, []byte("DeoptContinuation")) ||
		bytes.HasPrefix(name, []byte("ContinueTo")) || bytes.HasPrefix(name, []byte("NotifyDeoptimized")))
}

// mostContinued bounds them; V8 14 has 80.
const mostContinued = 256

func (e *Builtins) find(f *elffile.File, kind elffile.SymbolKind) {
	var begin, size uint64
	inside := false
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool {
		if s.Type() == elffile.SymFunc && len(e.continued) < mostContinued && isContinuation(f.NameBytes(kind, s)) {
			e.continued = append(e.continued, s.Value)
		}
		if s.Type() != elffile.SymNoType || s.Size != 0 || s.Section == elffile.SectionUndef {
			return true
		}
		switch name := f.NameBytes(kind, s); {
		case !bytes.HasPrefix(name, []byte(embeddedBegins)):
		case bytes.HasSuffix(name, []byte(embeddedInside)):
			begin, inside = s.Value, true
		case bytes.HasSuffix(name, []byte(embeddedCode)) && !inside:
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
