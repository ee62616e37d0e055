// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/sample"
	"prywalk/internal/symbolized"
)

// LocID numbers a location ([Builder.Loc]).
type LocID uint32

// Loc is an entry of a stack: code or synthetic.
type Loc struct {
	// Module is nil if unknown or synthetic.
	Module *ModuleInfo
	// Addr is exact for innermost and signal-interrupted frames, else the return address − 1.
	Addr uint64
	// Synthetic is the name of an entry that is no code, in brackets, or "".
	Synthetic string
	// FramesOf is from [Builder.InternFrames]; 0: the Resolver is called.
	FramesID FramesID
	// Machinery is set for interpreter frames: native functions that run managed frames.
	Machinery bool
}

// FramesID is a number from [Builder.InternFrames]; 0: none.
type FramesID uint32

// Machinery is the frame type of interpreter frames. The type ends the system name: "fib [c2]" ([FrameType]).
const Machinery = "machinery"

// ModuleInfo is a mapping of code, immutable once used. Mappings with equal fields (except Origin), and of the same
// part of one File, are one module.
type ModuleInfo struct {
	// The bounds at run time; End is excluded.
	Start, End uint64
	// In bytes, of Start.
	FileOffset uint64
	// Bias is the address at run time − that in the ELF file, modulo 2^64.
	Bias uint64
	// Path of the file, or a name in brackets.
	Path string
	// BuildID is the GNU build ID in hex, or "".
	BuildID string
	// Owner is the only process with this code (JIT), 0 for files.
	Owner int
	// Grows is set for JIT code: another End is the same module.
	Grows bool
	// File identifies the contents; 0: addresses do.
	File   FileID
	Origin Origin
}

// FileID identifies a file's contents.
type FileID uint64

// Origin is a module's code, for the Resolver.
type Origin struct {
	// The unwinder's module, and a process that ran it; nil: not unwound.
	Module *frames.Module
	PID    int
	Kernel bool
}

// Frame is a function at an address; inlined calls make several.
type Frame = symbolized.Frame

// Resolver names addresses: a write calls it once for each, from one goroutine.
type Resolver interface {
	// Resolve returns the functions at addr (run time − Bias), innermost inlined call first; none if unknown.
	Resolve(m *ModuleInfo, addr uint64) []Frame
}

// FinalResolver is a Resolver whose final answers the Builder keeps.
type FinalResolver interface {
	Resolver
	// IsFinal, called after Resolve, reports that the answers for a module will not change.
	IsFinal(m *ModuleInfo) bool
}

// Interval is the time between two samples of a thread, attributed to a stack.
type Interval struct {
	Stack sample.StackID
	// PID and TID identify the thread; TID 0: time of no single thread.
	PID, TID int
	// InnerPID and InnerTID are the numbers in the process's pid namespace, 0 if equal.
	InnerPID, InnerTID int
	// Start of the process, clock ticks after boot: pids are reused. Not in files.
	Start        uint64
	Comm, Thread string
	Role         string
	// State is "running", "sleeping", "disk" or "stopped"; Wait is the wait reason of a sleep.
	State, Wait string
	// WaitsFor is equal for all waiters of one object ("mutex cache_mu"), or "".
	WaitsFor string
	// Owner held that object at the sleep's first sample; 0: unknown, [NoOwner]: free.
	Owner int
	// Task is languages.GoroutineTask or languages.CoroutineTask, of no thread; Thread is then its first function.
	Task string
	// Labels are the program's, as [LabelText].
	Labels string
	// End of the interval, Unix epoch, ns; it began Wall earlier. Dropped when aggregating.
	End int64
	// Number of ticks.
	Samples int64
	// Wall, RunQueue and CPU are times in ns: all, in the run queue, on a CPU.
	Wall, RunQueue, CPU int64
}

// Meta describes a recording.
type Meta struct {
	Start  time.Time
	Period time.Duration
	// Main binary; nil if unknown ([Builder.SetMain]).
	Main *ModuleInfo
	// Aggregate adds up equal stacks and labels, without times.
	Aggregate bool
	// Discard keeps no intervals.
	Discard bool
	// Rotates is set for a recording in parts ([Builder.Rotate]).
	Rotates bool
	// SpillTo is the directory of an unnamed file for a long journal's older part; "", or after a write error: memory.
	SpillTo string
}
