// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
)

// Host is a runtime's access to its process or core, for the walking goroutine.
type Host interface {
	Arch() frames.Arch
	Modules() []*frames.Module
	// Symbol gives a symbol's address and size in bytes, from the file or its debug file; false if none. A thread-local
	// symbol's address is its offset in the file's block plus the bias. A miss may open the debug file.
	Symbol(m *frames.Module, name string) (addr, size uint64, ok bool)
	// OwnSymbols gives all symbols with these names in the file's own tables; the answer is cached.
	OwnSymbols(m *frames.Module, names ...string) []Symbol
	Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool)
	// Read reads memory and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// ReadCode reads instructions likewise, and registers them to be compared later, apart from [Runtime.Changed].
	ReadCode(addr uint64, b []byte) int
	// Flow gives the analysis of instructions of generated code; nil if there is none.
	Flow() *heuristics.Source
}

// Gatherer is a [Host] that can read several places at once.
type Gatherer interface {
	// ReadParts reads the parts in order and gives the number read in full before the first failure. Later ones may be
	// readable by [Host.Read].
	ReadParts(parts []frames.Region) int
}

// Symbol is a symbol of a file.
type Symbol struct {
	Name               string
	Addr, Size         uint64
	Function, Exported bool
}

// Unowned gives the modules of generated code without an owner.
func Unowned(h Host) (made []*frames.Module) {
	for _, m := range h.Modules() {
		if m.Generated && m.Owner == nil {
			made = append(made, m)
		}
	}
	return made
}

// AddSource puts s before m's other sources if it is not among them. The module keeps its owner.
func AddSource(m *frames.Module, s frames.RuleSource) {
	if !slices.Contains(m.Sources, s) {
		m.Sources = append([]frames.RuleSource{s}, m.Sources...)
	}
}

// ErrNotYet is a [Detector]'s error for a mapped runtime that has not started. Detection is retried.
var ErrNotYet = errors.New("it has not begun")

// Detector finds a runtime of its kind, or nil. The error is why one is not read, or [ErrNotYet].
type Detector func(h Host) (Runtime, error)

// Runtime is a runtime of a process, for the walking goroutine. Most embed [Base].
type Runtime interface {
	// Name gives name and version: "CPython 3.12.1".
	Name() string
	// Module gives the module that the runtime is, as of the last Attach, if a process can have several runtimes of
	// this kind; nil: it has one. Detection continues in the other modules.
	Module() *frames.Module
	// Attach sets the rule sources of the modules of its code, after each reading of the mappings. It reports false if
	// the runtime is gone.
	Attach(h Host) bool
	// Changed is called after each reading of the mappings, before Attach. It reports whether rules given before may be
	// invalid though no instruction changed, as after a list of functions did.
	Changed() bool
	// FuncRange gives the bounds of the function of its own code at pc.
	FuncRange(pc uint64) (start, end uint64, ok bool)
	// Unknown gives the reason for missing rules or names, or nil.
	Unknown() error
	// Forget drops what was read from the process and can be read again. Refs given before become invalid.
	Forget()
}

// CodeHistory is a Runtime that knows which code was present at a time.
type CodeHistory interface {
	Runtime
	// SetTime sets the time for which rules must hold, that of the walked copy. mayRead permits reads of the process.
	// It reports whether rules given before are invalid.
	SetTime(at int64, mayRead bool) (changed bool)
}

// Base has the usual answers of a [Runtime] and of [Namer.Plan]: the only one of its kind, constant rules, no function
// bounds, nothing to copy.
type Base struct{}

// Module implements [Runtime].
func (Base) Module() *frames.Module { return nil }

// Changed implements [Runtime].
func (Base) Changed() bool { return false }

// FuncRange implements [Runtime].
func (Base) FuncRange(uint64) (start, end uint64, ok bool) { return 0, 0, false }

// Unknown implements [Runtime].
func (Base) Unknown() error { return nil }

// Forget implements [Runtime].
func (Base) Forget() {}

// Plan implements [Namer].
func (Base) Plan() *Plan { return nil }

// Anchor implements [Namer].
func (Base) Anchor(int, uint64) (uint64, bool) { return 0, false }

// Namer is a Runtime that knows the managed frames of a thread.
type Namer interface {
	Runtime
	// Plan gives what the tracer copies besides the stack, or nil. A walk may change it.
	Plan() *Plan
	// Anchor gives the plan's start address for a thread. pthread is the thread pointer (fs base, TPIDR_EL0), 0 if
	// unknown.
	Anchor(tid int, pthread uint64) (addr uint64, ok bool)
	// Begin begins the walk of s, which is valid until the next Begin.
	Begin(s *Sample)
	// Native is called for each native frame of the walk, innermost first, with its CFA: 0 for the outermost frame of
	// an incomplete walk, [Outermost] of a complete one. It appends the managed frames that the frame runs, innermost
	// first. instead reports that they replace the native frame, such as an interpreter's loop or compiled code; a
	// frame in a file's code stays in the recording, shown on request.
	Native(f *frames.Frame, cfa frames.Addr, out []Ref) (refs []Ref, instead bool)
	// End ends the walk. If it returns [Broken] the Refs are dropped, and the native frames stay.
	End() Health
	// Symbolize appends the functions of a new Ref during its walk, innermost inlined call first.
	Symbolize(r Ref, l Live, out []Frame) ([]Frame, Truth)
}

// Outermost is the CFA of a complete walk's outermost frame.
const Outermost = ^frames.Addr(0)

// Health is the validity of a walk's managed frames.
type Health uint8

// Results of [Namer.End].
const (
	// Matched: each managed frame belongs to a native one.
	Matched Health = iota
	// Unmatched: some managed frames belong to no walked native frame.
	Unmatched
	// Broken: the runtime's chain contradicts itself or the native frames.
	Broken
)

// Sample is the input of a walk.
type Sample struct {
	TID  int
	Regs *frames.Regs
	// Mem is the copied memory: a [frames.Snapshot], or a core's.
	Mem frames.Memory
	// At is the time of the copy.
	At int64
	// Asleep: the thread was not stopped, but did not run during the copy.
	Asleep bool
	Live   Live
}

// Live reads a process's memory at the time of the walk, after the copy.
type Live interface {
	Read(addr uint64, b []byte) int
	// Unchanged reports whether the thread has not run since the copy; true for stopped threads and cores.
	Unchanged() bool
}

// Ref identifies a managed frame: equal Refs of a process are the same position in the same function. It must be
// verified before it is dereferenced.
type Ref struct {
	// Object is the address of the function's object, Position an offset in its code or bytecode.
	Object, Position uint64
	// Cookie distinguishes Object from a later one at the same address.
	Cookie uint64
	// Kind is defined by the runtime.
	Kind uint8
}

// Frame is one function of a managed frame.
type Frame struct {
	// Function is the source name; File and Line are the position. "" and 0 if unknown.
	Function, File string
	Line           int
	// StartLine is the function's first line; 0 if unknown.
	StartLine int
	// Type is the execution tier: "cpython", "interpreted", "c1", "c2", "stub".
	Type string
	// Inlined: its code is part of the next Frame's.
	Inlined bool
}

// Truth is how far a Frame is proven.
type Truth uint8

// Results of [Namer.Symbolize].
const (
	// Proven: the memory did not change between copy and read.
	Proven Truth = iota
	// Checked: a copied identity is unchanged.
	Checked
	// Freed: the function was freed; its frame is [freed].
	Freed
)
