// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/elffile"
)

// # Code in files
//
// Code that a language's compiler has put into an ELF file needs no process: its table (Go), and code that follows a
// convention of its own (V8's builtins). All addresses are the file's.

// FileTable is a table of the functions of one language in an ELF file. Its rules come before call frame information,
// and debug files are not searched for these functions. Not safe for concurrent use.
type FileTable interface {
	frames.RuleSource
	heuristics.Functions
	// Prepare decodes what a [Runtime] asks of the table, so that later questions can be concurrent.
	Prepare()
}

// TableReader reads the tables of one language.
type TableReader interface {
	// Has reports by the section headers whether a file may have a table.
	Has(f *elffile.File) bool
	// Read gives the table; nil if there is none.
	Read(f *elffile.File) FileTable
}

// SymbolTables calls yield for the symbol tables of a file and its debug file.
type SymbolTables func(yield func(f *elffile.File, kind elffile.SymbolKind))

// Builtins is code of a run-time system that was compiled with the file. Not safe for concurrent use.
type Builtins interface {
	// KeepsFPOnly is [heuristics.Conventions.KeepsFPOnly].
	KeepsFPOnly(pc uint64) bool
	// Continues reports whether a function begins at pc that others return into without having called it.
	Continues(pc uint64) bool
	// Rule is the rule at the first instruction of such a function, for a caller; false if unknown.
	Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool)
}

// FileHost is a [Host] that has the tables of its modules' files.
type FileHost interface {
	Host
	// Table gives the prepared table of a module's file; nil for none.
	Table(m *frames.Module) FileTable
}
