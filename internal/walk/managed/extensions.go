// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/elffile"
)

// ContextHost is a [Host] whose user asked for the contexts of requests.
type ContextHost interface {
	Host
	// NamedMapping returns the first mapping whose name begins with one of prefixes, or false if there is none, or
	// contexts were not asked for.
	NamedMapping(prefixes ...string) (start, end uint64, ok bool)
	// ReadsContexts reports whether contexts were asked for.
	ReadsContexts() bool
	// ThreadLocalBlock returns the size and the alignment of a file's block of thread-local variables, bytes.
	ThreadLocalBlock(m *frames.Module) (size, align uint64, ok bool)
}

// ContextSource is a Runtime that knows the request on which a thread works.
type ContextSource interface {
	Runtime
	// Context returns the request's labels, or nil, from a thread's copied memory. innerTID is in the process's pid
	// namespace.
	Context(innerTID int, regs *frames.Regs, mem frames.Memory) map[string]string
}

// AwaitSource is a FrameSource that finds suspended functions in its heap.
type AwaitSource interface {
	FrameSource
	// Awaits returns the suspended asynchronous functions. It searches the heap until a time, in nanoseconds of
	// CLOCK_MONOTONIC.
	Awaits(w Watch, until int64) AwaitList
}

// AwaitList is one reading of suspended functions. Tasks are chains of functions that await each other, those with
// equal frames once ([Task].Count). Undisturbed means that no thread ran during the reading.
type AwaitList struct {
	AwaitCounts
	Tasks       []Task
	Undisturbed bool
}

// AwaitCounts counts a program's suspended asynchronous functions.
type AwaitCounts struct {
	// Pending is their number. Unproven changed while they were read, or did not pass a check, and are not shown, nor
	// are More chains of them, beyond the limits.
	Pending  int `json:"pending"`
	Unproven int `json:"unproven"`
	More     int `json:"more,omitempty"`
	// Read is the size of the pages that were searched, in bytes; 0 means that no heap was found. Unread are pages that
	// were not readable. Cut means that not all pages were searched, as the time was over or there are too many promises.
	Read   int  `json:"read_bytes"`
	Unread int  `json:"unread_pages,omitempty"`
	Cut    bool `json:"cut,omitempty"`
}

// AreaHost is a [Host] that knows its memory without a file.
type AreaHost interface {
	Host
	// AnonymousAreas calls f for the writable areas without a file and without code, ascending.
	AnonymousAreas(f func(Span))
}

// FileTable is a table of functions in an ELF file (Go), at the file's addresses. Not safe for concurrent use.
type FileTable interface {
	frames.RuleSource
	heuristics.Functions
	// Lines appends the calls at pc, an address within the instruction, innermost inlined first.
	Lines(pc uint64, out []sample.Frame) []sample.Frame
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
	// Rule is a caller's rule at the first instruction of such a function, or false if it is unknown.
	Rule(arch frames.Arch) (frames.Rule, *frames.Row, bool)
}

// FileHost is a [Host] with the tables of its modules' files.
type FileHost interface {
	Host
	Table(m *frames.Module) FileTable
}
