// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"

	"prywalk/frames"
	"prywalk/heuristics"
)

// Host is a run-time system's access to its process or core, for the walking goroutine.
type Host interface {
	// Arch is the architecture of the process.
	Arch() frames.Arch
	// Modules gives the executable mappings, by address.
	Modules() []*frames.Module
	// Symbol gives a symbol's run-time address and size in bytes, from the file or its debug file; false if there is
	// none. For a thread-local one it is the offset in the file's block plus the bias. A missing name can cost
	// opening the debug file.
	Symbol(m *frames.Module, name string) (addr, size uint64, ok bool)
	// Own gives all symbols of these names in the file's own tables. The answer is cached.
	Own(m *frames.Module, names ...string) []Symbol
	// Section gives a section's run-time address and bytes in the file; false if there is none.
	Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool)
	// Read reads memory and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// ReadCode reads instructions likewise. They are compared later, apart from [Runtime.Changed].
	ReadCode(addr uint64, b []byte) int
	// Flow gives the analysis of generated code.
	Flow() *heuristics.Source
}

// Gatherer is a [Host] that can read several places at once.
type Gatherer interface {
	// ReadParts reads the parts in order. It gives the number read in full before the first failure; later ones may
	// be readable by [Host.Read].
	ReadParts(parts []frames.Region) int
}

// Symbol is a symbol of a file.
type Symbol struct {
	Name string
	// Addr is its run-time address, Size its size in bytes.
	Addr, Size uint64
	// Function reports a function, not an object, Exported a dynamic symbol.
	Function, Exported bool
}

// Unowned gives the modules of run-time code that no run-time system has adopted.
func Unowned(h Host) (made []*frames.Module) {
	for _, m := range h.Modules() {
		if m.Generated && !m.NoFP {
			made = append(made, m)
		}
	}
	return made
}

// ErrNotYet is a [Detector]'s error for a mapped run-time system that has not begun. Detection is retried.
var ErrNotYet = errors.New("it has not begun")

// Detector finds a run-time system of its kind; nil if there is none. An error is the reason why one is not read,
// or [ErrNotYet].
type Detector func(h Host) (Runtime, error)

// Runtime is a run-time system of a process, for the walking goroutine. Most embed [Plain].
type Runtime interface {
	// Name gives its name and version: "CPython 3.12.1".
	Name() string
	// Attach sets the rule sources of the modules of its code after each reading of the mappings. It reports false if
	// the run-time system is gone.
	Attach(h Host) bool
	// Changed reports whether earlier rules are invalid.
	Changed() bool
	// At sets the moment (CLOCK_MONOTONIC, ns) of the walked copy, for which rules must hold. ask permits reads from
	// the process. It reports whether earlier rules are invalid.
	At(moment int64, ask bool) (changed bool)
	// Dated reports whether At must be called.
	Dated() bool
	// FuncRange gives the bounds of the function of its own code at pc.
	FuncRange(pc uint64) (start, end uint64, ok bool)
	// Unknown gives the reason for missing rules or names, or nil.
	Unknown() error
	// Forget drops cached code and names.
	Forget()
}

// PerModule is a Runtime that belongs to one module. A process can have several of its kind: detection continues
// in the other modules.
type PerModule interface {
	Runtime
	// Module gives its module, as of the last Attach.
	Module() *frames.Module
}

// Plain is embedded by a Runtime for the common answers: constant rules, no cache, no function bounds, no plan.
type Plain struct{}

// Changed implements [Runtime].
func (Plain) Changed() bool { return false }

// At implements [Runtime].
func (Plain) At(int64, bool) bool { return false }

// Dated implements [Runtime].
func (Plain) Dated() bool { return false }

// FuncRange implements [Runtime].
func (Plain) FuncRange(uint64) (start, end uint64, ok bool) { return 0, 0, false }

// Unknown implements [Runtime].
func (Plain) Unknown() error { return nil }

// Forget implements [Runtime].
func (Plain) Forget() {}

// Plan implements [Namer].
func (Plain) Plan() *Plan { return nil }

// Anchor implements [Namer].
func (Plain) Anchor(int, uint64) (uint64, bool) { return 0, false }

// Namer is a Runtime that knows the managed frames of a thread.
type Namer interface {
	Runtime
	// Plan gives what is copied besides the stack, or nil. The tracer executes it. A walk may change it.
	Plan() *Plan
	// Anchor gives the plan's start address for a thread, or false. tid is its ID in its own pid namespace, pthread
	// the thread pointer (fs base, TPIDR_EL0), 0 if unknown.
	Anchor(tid int, pthread uint64) (addr uint64, ok bool)
	// Begin begins a walk. Its state of the sample is valid until the next Begin.
	Begin(s *Sample)
	// Native is called for each native frame of the walk, innermost first, with its CFA: 0 for the outermost frame of
	// an incomplete walk, [Outermost] of a complete one. It appends the managed frames that the frame runs, innermost
	// first. instead reports that they replace the native frame, such as an interpreter's loop or compiled code; one of
	// a file's code stays in the recording, shown on request.
	Native(f *frames.Frame, cfa frames.Addr, out []Ref) (refs []Ref, instead bool)
	// End ends the walk. Unless the Refs are valid they are dropped, and the native frames stay.
	End() Health
	// Symbolize appends the functions of a new Ref, innermost inlined call first, during its walk.
	Symbolize(r Ref, l Live, out []Frame) ([]Frame, Truth)
}

// Outermost is the CFA of a complete walk's outermost frame.
const Outermost = ^frames.Addr(0)

// Health is the validity of a walk's managed frames.
type Health uint8

// Results of [Namer.End].
const (
	// Matched means that each managed frame belongs to a native one.
	Matched Health = iota
	// Left means that some managed frames belong to no walked native frame.
	Left
	// Broken means that the run-time system's chain contradicts itself or the native frames.
	Broken
)

// Sample is the input of a walk.
type Sample struct {
	// TID is the thread's ID in its own pid namespace.
	TID int
	// Regs are its registers, Mem its copied memory: a [frames.Snapshot], or a core's.
	Regs *frames.Regs
	Mem  frames.Memory
	// At is the time of the copy, CLOCK_MONOTONIC in ns; 0: unknown, as in a core.
	At int64
	// Asleep reports that the thread was not stopped, but did not run during the copy.
	Asleep bool
	// Live reads the process's current memory.
	Live Live
}

// Live reads a process's memory at the time of the walk, after the copy.
type Live interface {
	// Read reads memory and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// Unchanged reports whether the thread has not run since the copy. It is true for stopped threads and cores.
	Unchanged() bool
}

// Ref is the identity of a managed frame: equal Refs of a process are the same position in the same function. It
// must be verified before it is dereferenced.
type Ref struct {
	// Object is the address of the function's object, Position the offset in its code or bytecode.
	Object, Position uint64
	// Cookie distinguishes Object from a later one at the same address.
	Cookie uint64
	// Kind is defined by the run-time system.
	Kind uint8
}

// Frame is one function of a managed frame.
type Frame struct {
	// Function is the source name, File and Line the position; "" and 0 if unknown.
	Function, File string
	Line           int
	// StartLine is the function's first line, 0 if unknown.
	StartLine int
	// Type is its execution tier, as "cpython", "interpreted", "c1", "c2", "stub".
	Type string
	// Inlined reports that its code is part of the next Frame's.
	Inlined bool
}

// Truth is how far a description is proven.
type Truth uint8

// Results of [Namer.Symbolize].
const (
	// Proven means that the memory could not change between copy and reading.
	Proven Truth = iota
	// Checked means that a copied identity is unchanged.
	Checked
	// Freed means that the function was freed; its frame is [freed].
	Freed
)
