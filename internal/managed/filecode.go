// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
	"prywalk/internal/named"
)

// # Code in files
//
// Code that a compiler has put into an ELF file: functions listed in a table (Go), or with a convention of their own
// (V8's builtins). Addresses are the file's.

// FileTable is a table of one language's functions in an ELF file. Its rules come before call frame information, and
// debug files are not searched for its functions. Not safe for concurrent use.
type FileTable interface {
	frames.RuleSource
	heuristics.Functions
	// Lines appends the calls at pc, an address within the instruction, innermost inlined first.
	Lines(pc uint64, out []named.Frame) []named.Frame
	// Prepare decodes what a [Runtime] asks of the table, so that its questions can be concurrent.
	Prepare()
}

// TableReader reads the tables of one language.
type TableReader interface {
	// Has reports, by the section headers, whether a file may have a table.
	Has(f *elffile.File) bool
	Read(f *elffile.File) FileTable
}

// FileSymbols are the symbols of a file. For one without a symbol table of its own, those of its debug file are added.
type FileSymbols interface {
	// Tables yields the symbol tables.
	Tables(yield func(f *elffile.File, kind elffile.SymbolKind))
	// Named gives all symbols with these names.
	Named(names ...string) []Symbol
}

// Builtins is a runtime's own generated code that is part of a file. Not safe for concurrent use.
type Builtins interface {
	// KeepsFPOnly is [heuristics.Conventions.KeepsFPOnly].
	KeepsFPOnly(pc uint64) bool
	// Continues reports whether a function begins at pc that is returned into but was not called.
	Continues(pc uint64) bool
	// Rule is the rule for a caller at the first instruction of such a function; false if unknown.
	Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool)
}

// FileHost is a [Host] that has the tables of its modules' files.
type FileHost interface {
	Host
	// Table gives the prepared table of a module's file, or nil.
	Table(m *frames.Module) FileTable
}
