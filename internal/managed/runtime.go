// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"

	"prywalk/frames"
	"prywalk/heuristics"
)

// Host is what a run-time system may ask of the process, or the core, that it is found in. It is for the goroutine that
// walks.
type Host interface {
	// Arch is the architecture of the process.
	Arch() frames.Arch
	// Modules gives the executable mappings, in the order of their addresses.
	Modules() []*frames.Module
	// Symbol gives a symbol's run-time address and its size in bytes, out of the file's tables or those of its separate
	// debug file; false if there is none. Of a thread-local one it is the offset in the file's block plus the bias. A
	// name that the file lacks can cost opening its debug file: ask it of files that something gives reason for.
	Symbol(m *frames.Module, name string) (addr, size uint64, ok bool)
	// Own gives the symbols of these names that the file's own tables have: all of each. No other file is opened, and the
	// answer is kept.
	Own(m *frames.Module, names ...string) []Symbol
	// Section gives a section's run-time address and its bytes as the file has them; false if there is none.
	Section(m *frames.Module, name string) (addr uint64, content []byte, ok bool)
	// Read reads memory and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// ReadCode reads instructions likewise. What was read is compared later: [Runtime.Changed] need not.
	ReadCode(addr uint64, b []byte) int
	// Flow is the analysis of the instructions of generated code.
	Flow() *heuristics.Source
}

// Gatherer is a [Host] that may read several places at once.
type Gatherer interface {
	// ReadParts reads as many bytes at each Addr as its Bytes are long, in the order of parts. It gives how many of them
	// were read whole, up to the first that was not. Others may be readable one by one, by [Host.Read].
	ReadParts(parts []frames.Region) int
}

// Symbol is a symbol of a file.
type Symbol struct {
	Name string
	// Addr is its run-time address, Size its size in bytes.
	Addr, Size uint64
	// Function: it is one, not an object. Exported: the dynamic linker knows it.
	Function, Exported bool
}

// Unowned gives the modules of code that was made at run time and that no run-time system has adopted.
func Unowned(h Host) (made []*frames.Module) {
	for _, m := range h.Modules() {
		if m.Generated && !m.NoFP {
			made = append(made, m)
		}
	}
	return made
}

// ErrNotYet is what a [Detector] gives for a run-time system whose code is there, and which has not begun. It is asked
// again soon, and nobody is told.
var ErrNotYet = errors.New("it has not begun")

// Detector looks for a run-time system of its kind. It gives nil if there is none. An error says in one line why one
// that is there is not read, or is [ErrNotYet]; its native frames stay.
type Detector func(h Host) (Runtime, error)

// Runtime is a run-time system that was found in a process. Its methods are for one goroutine, that of the walks.
type Runtime interface {
	// Name is what people call it, with its version: "CPython 3.12.1".
	Name() string
	// Adopt is told the modules whenever the mappings were read. It gives those of its code their sources of rules. It
	// reports false if the run-time system is not there any more.
	Adopt(h Host) bool
	// Changed reports whether rules that were given do not hold any more.
	Changed() bool
	// Forget drops what is remembered of code and names.
	Forget()
}

// Dated is a Runtime that knows which code was there when.
type Dated interface {
	Runtime
	// At has the rules that it gives from now on be those for what was copied at a moment (CLOCK_MONOTONIC, ns). It
	// reports whether rules that were given do not hold any more. It is called before each walk. ask: the process is
	// asked what has changed.
	At(moment int64, ask bool) (changed bool)
}

// Namer is a Runtime that knows the managed frames of a thread.
type Namer interface {
	Runtime
	// Begin tells that a walk begins. What it learns of the sample is valid until the next Begin.
	Begin(s *Sample)
	// Native is told each native frame of the walk, from the innermost on, with its CFA, the stack pointer of its caller.
	// That is 0 for the outermost frame of a walk that is not complete, and [Outermost] for that of a complete one. It
	// appends the managed frames that this native frame runs, innermost first. instead: they stand in the place of the
	// native frame, which is machinery (the interpreter's loop) or whose address says less than they do (compiled code).
	// Machinery that is a file's code stays in the recording, and is shown on request. Of generated code the managed
	// frames keep the address.
	Native(f *frames.Frame, cfa frames.Addr, out []Ref) (refs []Ref, instead bool)
	// End tells that the walk has ended, and whether what was appended holds. If not, all Refs of this walk are dropped,
	// and the native frames stay.
	End() Health
	// Describe appends the functions that a Ref stands for, the innermost inlined call first. It is asked once for each
	// Ref that was not met before, in the walk that met it.
	Describe(r Ref, l Live, out []Frame) ([]Frame, Truth)
}

// Outermost is the CFA of a complete walk's outermost frame: all of the stack lies further in.
const Outermost = ^frames.Addr(0)

// Health says whether the managed frames of a walk hold.
type Health uint8

// What [Namer.End] answers.
const (
	// Matched: each managed frame belongs to a native one.
	Matched Health = iota
	// Left: some managed frames belong to no native frame that was walked.
	Left
	// Broken: the run-time system's own chain contradicts itself or the native frames.
	Broken
)

// Sample is what a walk reads.
type Sample struct {
	// TID is the thread's number in its own pid namespace, as the process itself knows it.
	TID int
	// Regs are its registers, Mem what was copied of its memory: a [frames.Snapshot], or the memory of a core.
	Regs *frames.Regs
	Mem  frames.Memory
	// At is when it was copied, CLOCK_MONOTONIC in nanoseconds; 0: not known, as of a core.
	At int64
	// Asleep: the thread was not stopped; its run count was the same before and after the copy.
	Asleep bool
	// Live reads more of the process's memory, as it is by now.
	Live Live
}

// Live reads the memory of a process as it is at the time of the walk, some time after the copy.
type Live interface {
	// Read reads memory and gives the number of bytes read.
	Read(addr uint64, b []byte) int
	// Unchanged reports whether the thread has not run since the copy: what its frames keep alive is then as it was. It
	// is true for a thread that is stopped and for a core.
	Unchanged() bool
}

// Ref is the identity of a managed frame: equal Refs of one process are the same place in the same function. It is
// compared, and never followed without a check.
type Ref struct {
	// Object is the address of what stands for the function, Position the place in it (an offset of code or of bytecode).
	Object, Position uint64
	// Cookie tells Object from another one at the same address later.
	Cookie uint64
	// Kind is the run-time system's own.
	Kind uint8
}

// Frame is one function of a managed frame.
type Frame struct {
	// Function is the name that people write, File and Line the place in the source; "" and 0 if not known.
	Function, File string
	Line           int
	// StartLine is where the function begins, 0 if not known.
	StartLine int
	// Type is how it runs, as "cpython", "interpreted", "c1", "c2", "stub".
	Type string
	// Inlined: its code is part of the next Frame's.
	Inlined bool
}

// Truth says how far a description is proven.
type Truth uint8

// What [Namer.Describe] answers.
const (
	// Proven: the memory could not change between the copy and the reading of the name.
	Proven Truth = iota
	// Checked: an identity that was copied is still there.
	Checked
	// Freed: it is not: the function has been freed. Its frame is called [freed].
	Freed
)
