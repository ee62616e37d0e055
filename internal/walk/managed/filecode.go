// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/code/elffile"
	"prywalk/internal/store/symbolized"
)

// FileTable is a table of functions in an ELF file (Go), at the file's addresses. Not safe for concurrent use.
type FileTable interface {
	frames.RuleSource
	heuristics.Functions
	// Lines appends the calls at pc, an address within the instruction, innermost inlined first.
	Lines(pc uint64, out []symbolized.Frame) []symbolized.Frame
	// Prepare decodes what a [Runtime] reads, which is then safe for concurrent use.
	Prepare()
}

// FileSymbols are the symbols of a file, or of its debug file.
type FileSymbols interface {
	Tables(yield func(f *elffile.File, kind elffile.SymbolKind))
	Named(names ...string) []Symbol
}

// Builtins is a runtime's generated code in a file (V8), at the file's addresses. Not safe for concurrent use.
type Builtins interface {
	// SavesFPOnly is [heuristics.Conventions.SavesFPOnly].
	SavesFPOnly(pc uint64) bool
	// Continues reports whether a function begins at pc that is returned into but was not called.
	Continues(pc uint64) bool
	// Rule is a caller's rule at the first instruction of such a function; false: unknown.
	Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool)
}

// FileHost is a [Host] with the tables of its modules' files.
type FileHost interface {
	Host
	Table(m *frames.Module) FileTable
}
