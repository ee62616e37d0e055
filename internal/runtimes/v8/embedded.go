// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/elffile"
	"prywalk/internal/managed"
)

// Builtins is V8's code compiled at build time, in the program's file. It implements [managed.Builtins]. Like run-time
// code it saves only the frame pointer. Symbols give its start and the word with its size (EmbeddedFileWriter in
// src/snapshot/embedded); they are read on first use.
type Builtins struct {
	elf    *elffile.File
	tables managed.SymbolTables
	found  bool
	code   span
	// continuations are the starts of builtins that deoptimized functions return to.
	continuations []uint64
}

// BuiltinsOf makes the Builtins of a file, which is read later.
func BuiltinsOf(f *elffile.File, tables managed.SymbolTables) managed.Builtins {
	return &Builtins{elf: f, tables: tables}
}

type span struct{ start, end uint64 }

func (s span) has(addr uint64) bool { return addr >= s.start && addr < s.end }

// Prefix and suffixes of the symbols, around the variant.
const (
	embeddedBegins = "v8_"
	embeddedCode   = "_embedded_blob_code_"
	embeddedData   = "_embedded_blob_code_data_" // up to V8 10, where embeddedCode is a pointer to it
	embeddedSize   = "_embedded_blob_code_size_"
)

// KeepsFPOnly implements [managed.Builtins].
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

// Continues implements [managed.Builtins], by the names of builtins that deoptimized functions return to
// (Deoptimizer::ContinuationForOutermost… in src/deoptimizer).
func (e *Builtins) Continues(pc uint64) bool {
	e.search()
	return slices.Contains(e.continuations, pc)
}

// Rule implements [managed.Builtins].
func (*Builtins) Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool) { return ruleOf(arch) }

func isContinuation(name []byte) bool {
	name, ok := bytes.CutPrefix(name, []byte("Builtins_"))
	return ok && (bytes.Contains(name, []byte("EnterAt")) || bytes.HasSuffix(name, []byte("DeoptContinuation")) ||
		bytes.HasPrefix(name, []byte("ContinueTo")) || bytes.HasPrefix(name, []byte("NotifyDeoptimized")))
}

// maxContinued bounds the continuations; V8 14 has 80.
const maxContinued = 256

func (e *Builtins) find(f *elffile.File, kind elffile.SymbolKind) {
	var begin, size uint64
	inside := false
	_ = f.EachSymbol(kind, func(s *elffile.Symbol) bool {
		if s.Type() == elffile.SymFunc && len(e.continuations) < maxContinued && isContinuation(f.NameBytes(kind, s)) {
			e.continuations = append(e.continuations, s.Value)
		}
		if s.Type() != elffile.SymNoType || s.Size != 0 || s.Section == elffile.SectionUndef {
			return true
		}
		switch name := f.NameBytes(kind, s); {
		case !bytes.HasPrefix(name, []byte(embeddedBegins)):
		case bytes.HasSuffix(name, []byte(embeddedData)):
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
