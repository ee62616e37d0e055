// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

// LocID numbers a location ([Builder.Loc]).
type LocID uint32

// Loc is an entry of a stack: code or synthetic.
type Loc struct {
	// Module is nil if unknown or synthetic.
	Module *ModuleInfo
	// Addr is the address to name ([frames.Frame.LookupPC]): the next instruction of innermost and interrupted frames,
	// else an address within the call.
	Addr uint64
	// Synthetic is the name, in brackets, of an entry that is no code, or "".
	Synthetic string
	// FramesID is from [Builder.InternFrames]; if it is 0, the Resolver is called.
	FramesID FramesID
	// Machinery marks an interpreter's native functions that run managed ones.
	Machinery bool
}

// FramesID is a number from [Builder.InternFrames], or 0 if there is none.
type FramesID uint32

// Machinery is the frame type of interpreters' native frames. It ends a system name, as in "fib [c2]" ([FrameType]).
const Machinery = "machinery"

// ModuleInfo is a mapping of code, immutable once used. Mappings with equal fields (except Origin), and of the same
// part of one File, are one module.
type ModuleInfo struct {
	// Start and End are the bounds at run time, End excluded.
	Start, End uint64
	// FileOffset is Start's offset in the file, in bytes.
	FileOffset uint64
	// Bias is the address at run time − that in the ELF file, modulo 2^64.
	Bias uint64
	// Path of the file, or a name in brackets.
	Path string
	// BuildID is the GNU build ID in hex, or "".
	BuildID string
	// Owner is the only process with this code (JIT), 0 for files.
	Owner int
	// Grows is set for JIT code, which is the same module with another End.
	Grows bool
	// File identifies the contents; with 0, the addresses identify the module.
	File   FileID
	Origin Origin
}

// FileID identifies a file's contents.
type FileID uint64

// Origin is where a Resolver finds a module's code.
type Origin struct {
	Module *frames.Module // nil for frames that were not unwound
	PID    int            // a process that ran it
	Kernel bool           // the kernel's code
}

// Frame is a function at an address; inlined calls make several.
type Frame = sample.Frame

// Resolver names addresses. A write calls it at most once for each, from one goroutine.
type Resolver interface {
	// Resolve returns the functions at addr (run time − Bias), innermost inlined call first; none if unknown.
	Resolve(m *ModuleInfo, addr uint64) []Frame
}

// FinalResolver is a Resolver whose final answers the Builder keeps.
type FinalResolver interface {
	Resolver
	// IsFinal, called after Resolve, reports whether the answers for a module will not change.
	IsFinal(m *ModuleInfo) bool
}

// Interval is the time between two samples of a thread, attributed to a stack.
type Interval struct {
	Stack sample.StackID
	// PID and TID identify the thread. With TID 0 it is time of no single thread.
	PID, TID int
	// InnerPID and InnerTID are the numbers in the process's pid namespace, 0 if equal.
	InnerPID, InnerTID int
	// Start is the process's start time in clock ticks after boot, not in files.
	Start        uint64
	Comm, Thread string
	Role         string
	// State is "running", "sleeping", "disk" or "stopped"; Wait is a sleep's reason.
	State, Wait string
	// WaitsFor is equal for all waiters of one object ("mutex cache_mu"), or "".
	WaitsFor string
	// Owner held that object at the sleep's first sample. It is 0 if that is unknown, [NoOwner] or [ParentOwner].
	Owner int
	// Task is of languages, as languages.GoroutineTask; Thread is then its first function.
	Task string
	// Labels are the program's, Container those of [container.Keys], as [LabelText].
	Labels, Container string
	// End is in nanoseconds of Unix time; the interval begins Wall earlier. Aggregating drops it.
	End int64
	// Samples is the number of ticks, or of kernel samples.
	Samples int64
	// Wall, RunQueue and CPU are times in nanoseconds: all, in the run queue, on a CPU.
	Wall, RunQueue, CPU int64
	// Before is the time, in nanoseconds, of an open sleep that checkpoints have added already; 0 in added intervals.
	Before int64
}

// Meta describes a recording.
type Meta struct {
	// Start and End bound the recording; a zero End is the time of the write.
	Start, End time.Time
	Period     time.Duration
	// Main is the main binary; nil if unknown.
	Main *ModuleInfo
	// Comments are lines.
	Comments []string
	// LastComments, if not nil, are more lines, asked for once all names are known.
	LastComments func() []string
	// Aggregate adds up equal stacks and labels, without times.
	Aggregate bool
	// Discard keeps no intervals.
	Discard bool
	// Rotates is set for a recording in parts ([Builder.Rotate]).
	Rotates bool
	// Ring, if positive, is for how long intervals are kept. A write begins at Start at the earliest
	// ([Builder.SetWindow]): of an interval that began before, it has the part since then.
	Ring time.Duration
	// SpillTo is the directory of an unnamed file for a long journal's older part; with "" it stays in memory.
	SpillTo string
	// SpillFailed, if not nil, is called when that file cannot be written: the older part stays in memory. It must not
	// call the Builder.
	SpillFailed func(error)
}
