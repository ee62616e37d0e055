// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/named"
	"prywalk/internal/sample"
)

// LocID identifies a location of [Builder.Loc].
type LocID uint32

// Loc is an entry of a stack: an address or a synthetic entry.
type Loc struct {
	// Module of Addr; nil if unknown or synthetic.
	Module *ModuleInfo
	// Addr is the address for names: exact for innermost and signal-interrupted frames, else the return address less
	// one.
	Addr uint64
	// Synthetic is the bracketed name of an entry that is no code, "" for code.
	Synthetic string
	// Described is from [Builder.Describe]; 0: the Resolver is asked.
	Described DescriptionID
	// Machinery: a native function that runs managed frames, such as an interpreter's loop.
	Machinery bool
}

// DescriptionID is a number of [Builder.Describe]; 0: none.
type DescriptionID uint32

// Machinery is the frame type of functions that run managed frames. A frame type ends the system name in brackets:
// "fib [c2]" ([FrameType]).
const Machinery = "machinery"

// ModuleInfo is a mapping of code. Equal descriptions (without Origin), and the same part of the same File elsewhere,
// are one module. Immutable once used.
type ModuleInfo struct {
	// Start and End (excluded) bound the mapping at run time.
	Start, End uint64
	// FileOffset of Start, bytes.
	FileOffset uint64
	// Bias is the run-time address less the ELF file's; it wraps.
	Bias uint64
	// Path of the file, or a name in brackets.
	Path string
	// BuildID is GNU's, in hex, or "".
	BuildID string
	// Owner is the pid of the only process with this code (JIT); 0 for files.
	Owner int
	// Grows: another End is the same module, grown, as JIT code grows.
	Grows bool
	// File identifies the file's contents; 0: identified by addresses.
	File FileID
	// Origin is for a Resolver.
	Origin Origin
}

// FileID identifies a file's contents.
type FileID uint64

// Origin is the code of a module.
type Origin struct {
	// Module is the walked code, PID a process that ran it; nil: not walked.
	Module *frames.Module
	PID    int
	// Kernel: kernel code.
	Kernel bool
}

// Frame is a function at an address; several with inlined calls.
type Frame = named.Frame

// Resolver names addresses: once per address in each Write, not concurrently.
type Resolver interface {
	// Resolve gives the functions at addr, a file address (run time less Bias), innermost inlined call first; none if
	// unknown.
	Resolve(m *ModuleInfo, addr uint64) []Frame
}

// FinalResolver is a Resolver whose final answers are kept, so that it can drop tables.
type FinalResolver interface {
	Resolver
	// IsFinal: the answers for a module are final. Called after each.
	IsFinal(m *ModuleInfo) bool
}

// Interval is the time between two samples of a thread, attributed to a stack.
type Interval struct {
	// Stack is from Intern of the same Builder.
	Stack sample.StackID
	// PID and TID identify the thread; TID 0: of no single thread.
	PID, TID int
	// NSPID and NSTID are those of the process's pid namespace, 0 if equal.
	NSPID, NSTID int
	// Comm names the process, Thread the thread.
	Comm, Thread string
	// Role in a run-time system, or "".
	Role string
	// State is "running", "sleeping", "disk" or "stopped"; Wait the wait reason of a sleep.
	State, Wait string
	// WaitsFor is equal for all waiters of one thing ("mutex cache_mu"), or "".
	WaitsFor string
	// Owner held it at the sleep's first sample; 0: unknown, [NoOwner]: free.
	Owner int
	// Task is "goroutine" for time of no thread; Thread is then its first function.
	Task string
	// Labels are the program's, from [LabelText].
	Labels string
	// End, Unix epoch, ns; it began Wall earlier. Dropped when aggregating.
	End int64
	// Samples is the number of ticks.
	Samples int64
	// Wall, RunQueue and CPU, ns: all, queued for a processor, on one.
	Wall, RunQueue, CPU int64
}

// Meta describes a recording.
type Meta struct {
	// Start of the recording.
	Start time.Time
	// Period between ticks.
	Period time.Duration
	// Main binary's module; nil if unknown (yet, [Builder.SetMain]).
	Main *ModuleInfo
	// Aggregate drops times and adds up equal stacks and labels.
	Aggregate bool
	// Discard keeps no intervals: another Sink takes them.
	Discard bool
	// Rotates: the recording is written in parts ([Builder.Rotate]).
	Rotates bool
	// SpillTo is the directory of an unnamed file for the older part of a long recording. "" keeps all in memory, and
	// so does a full directory.
	SpillTo string
}
