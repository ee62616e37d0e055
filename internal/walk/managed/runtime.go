// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"

	"prywalk/frames"
	"prywalk/heuristics"
)

// Host is a runtime's access to its process or core, for the walking goroutine only.
type Host interface {
	Arch() frames.Arch
	Modules() []*frames.Module
	// Symbol finds a symbol in the file or its debug file, which a miss may open, and returns false if there is none. A
	// thread-local symbol's address is its offset in the file's block plus the bias.
	Symbol(m *frames.Module, name string) (addr, size uint64, ok bool)
	// OwnSymbols returns all symbols with these names in the file's own tables; the answer is cached.
	OwnSymbols(m *frames.Module, names ...string) []Symbol
	// Section returns a copy of a section of the file.
	Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool)
	// Read returns the number of bytes read.
	Read(addr uint64, b []byte) int
	// ReadCode is Read of instructions, whose changes the host detects.
	ReadCode(addr uint64, b []byte) int
	// CodeAnalysis has the rules for code without tables, or nil if there is none.
	CodeAnalysis() *heuristics.Source
}

// Gatherer is a [Host] that reads several places at once.
type Gatherer interface {
	// ReadParts returns the number of parts read in full before the first failure.
	ReadParts(parts []frames.Region) int
}

// Symbol is a symbol of a file.
type Symbol struct {
	Name               string
	Addr, Size         uint64
	Function, Exported bool
}

// ErrNotYet is a [Detector]'s error until the runtime is initialized. Detection is retried.
var ErrNotYet = errors.New("it has not begun")

// Detector finds a runtime of its kind, or returns nil. Its error says why one is not read.
type Detector func(h Host) (Runtime, error)

// Runtime is a runtime of a process, for the walking goroutine.
type Runtime interface {
	// Name returns name and version: "CPython 3.12.1".
	Name() string
	// Module returns the runtime's module as of the last Attach if a process can have several of this kind, else nil.
	Module() *frames.Module
	// Attach sets the rule sources of the runtime's modules after each reading of the mappings; it returns false if it is
	// gone.
	Attach(h Host) bool
	// Changed is called before Attach. It reports whether rules may be invalid though no instruction changed.
	Changed() bool
	// FuncRange returns the bounds of the generated function at pc, in which instructions are analysed.
	FuncRange(pc uint64) (start, end uint64, ok bool)
	// Incomplete says why rules or names are missing.
	Incomplete() error
	// Forget drops what can be read again. Earlier Refs become invalid.
	Forget()
}

// Base has the usual answers of a [Runtime], of a [FrameSource]'s Plan and Anchor, and of ChangedTasks.
type Base struct{}

// Module implements [Runtime].
func (Base) Module() *frames.Module { return nil }

// Changed implements [Runtime].
func (Base) Changed() bool { return false }

// FuncRange implements [Runtime].
func (Base) FuncRange(uint64) (start, end uint64, ok bool) { return 0, 0, false }

// Incomplete implements [Runtime].
func (Base) Incomplete() error { return nil }

// Forget implements [Runtime].
func (Base) Forget() {}

// Plan implements [FrameSource].
func (Base) Plan() *Plan { return nil }

// Anchor implements [FrameSource].
func (Base) Anchor(int, uint64) (uint64, bool) { return 0, false }

// ChangedTasks implements [Threads].
func (Base) ChangedTasks(places []uint64) []uint64 { return places }

// NoRefs is the Base of a [FrameSource] that appends no Refs.
type NoRefs struct{ Base }

// Begin implements [FrameSource].
func (NoRefs) Begin(*Sample) {}

// End implements [FrameSource].
func (NoRefs) End() Health { return Matched }

// Symbolize implements [FrameSource].
func (NoRefs) Symbolize(_ Ref, _ Live, out []Frame) ([]Frame, Certainty) { return out, Freed }

// FrameSource is a Runtime that knows the managed frames of a thread.
type FrameSource interface {
	Runtime
	// Plan says what the tracer copies besides the stack. A walk may change it.
	Plan() *Plan
	// Anchor returns the plan's start address for a thread. threadPointer is fs base or TPIDR_EL0, or 0.
	Anchor(innerTID int, threadPointer uint64) (addr uint64, ok bool)
	// Begin begins the walk of s, which is valid until the next Begin.
	Begin(s *Sample)
	// ManagedFrames is called, innermost first, for each native frame that no earlier runtime has recognised, with its
	// CFA: 0 for the outermost frame of an incomplete walk, [Outermost] of a complete one. It appends the frame's managed
	// frames, innermost first. replacesFrame means that the frame is the code that they stand for, an interpreter's loop
	// or compiled code; or, also without Refs, another function of an interpreter's own file, which reports hide as
	// machinery.
	ManagedFrames(f *frames.Frame, cfa frames.Addr, out []Ref) (refs []Ref, replacesFrame bool)
	// End ends the walk. [Broken] drops the Refs and keeps the native frames.
	End() Health
	// Symbolize appends the functions of a new Ref during its walk, innermost inlined call first.
	Symbolize(r Ref, l Live, out []Frame) ([]Frame, Certainty)
}

// Outermost is the CFA of a complete walk's outermost frame.
const Outermost = ^frames.Addr(0)

// Health is the validity of a walk's managed frames.
type Health uint8

// Values of Health.
const (
	// Matched: each managed frame belongs to a native one.
	Matched Health = iota
	// Unmatched: some managed frames belong to no native frame.
	Unmatched
	// Broken: the runtime's chain contradicts itself or the native frames.
	Broken
)

// Sample is the input of a walk.
type Sample struct {
	InnerTID int
	Regs     *frames.Regs
	Mem      frames.Memory
	At       int64
	Live     Live
}

// Live reads a process's memory after the copy.
type Live interface {
	Read(addr uint64, b []byte) int
	// Unchanged reports whether the thread has not run since the copy; true in cores and stops.
	Unchanged() bool
}

// Ref identifies a managed frame: equal Refs of a runtime are one position in one function, or have no name.
type Ref struct {
	// Object is the address of the function's object, Position an offset in its code or bytecode.
	Object, Position uint64
	// Cookie distinguishes Object from a later one at the same address.
	Cookie uint64
	Kind   uint8 // defined by the runtime
}

// Frame is a managed frame's function, or a call inlined in it.
type Frame struct {
	// Function, File and Line are "" and 0 if unknown.
	Function, File string
	Line           int
	// StartLine is the function's first line, or 0.
	StartLine int
	// Type is the execution tier, such as "cpython", "interpreted", "c1", "c2", "stub".
	Type string
	// Inlined means that its code is part of the next Frame's.
	Inlined bool
}

// Certainty says how a Frame is known to describe the code of the copied stack.
type Certainty uint8

// Values of Certainty.
const (
	// SameMemory means that memory did not change between copy and read.
	SameMemory Certainty = iota
	// Checked means that a copied identity is unchanged.
	Checked
	// Freed means that the frame is named [freed]; what Symbolize appended is ignored.
	Freed
)
