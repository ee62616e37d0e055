// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/named"
	"prywalk/internal/sample"
)

// LocID names a location that [Builder.Loc] has seen.
type LocID uint32

// Loc is one entry of a stack: an address, or something that has none.
type Loc struct {
	// Module is where Addr lies; nil if in no known mapping, or if synthetic.
	Module *ModuleInfo
	// Addr is the run-time address to look names up by: exact for the innermost
	// frame and for one that a signal interrupted, else the return address
	// less one. Ignored for synthetic entries.
	Addr uint64
	// Synthetic is the name, in square brackets, of an entry that is not code,
	// as "[incomplete: no-rule]"; empty for code.
	Synthetic string
	// Described is what a run-time system says of the location, from [Builder.Describe]; 0: nothing, and the Resolver is
	// asked for its names.
	Described DescriptionID
	// Machinery: a native function that runs managed frames, which say more than it does.
	Machinery bool
}

// DescriptionID names a list of functions that [Builder.Describe] has seen; 0 is none.
type DescriptionID uint32

// Machinery is the type of a frame that runs managed frames, such as an interpreter's loop. A function of a recording
// has the type of its frame at the end of its system name, in brackets after a space: "fib [c2]". See [FrameType].
const Machinery = "machinery"

// ModuleInfo describes one mapping of executable code. Equal descriptions (all fields but Origin) are one module,
// whatever pointer they come by. So are those of the same part of the same File at other addresses, which become
// those of the one that came first. It must not change once it was used in a stack.
type ModuleInfo struct {
	// Start and End delimit the mapping at run time, End excluded.
	Start, End uint64
	// FileOffset is the place in the file that Start shows, in bytes.
	FileOffset uint64
	// Bias is the run-time address less the ELF file's own address; it wraps.
	Bias uint64
	// Path is the file's path, or a name in square brackets.
	Path string
	// BuildID is the GNU build id in hex, empty if there is none.
	BuildID string
	// Owner is the pid of the only process for which the code at these
	// addresses is this code (what a JIT compiler made); 0 for a file's.
	Owner int
	// Grows: the same with another End is the same module, grown. What a JIT compiler fills grows in small steps: else
	// each step would add locations and stacks for all of the code.
	Grows bool
	// File stands for the contents of the file that the code is from; 0: the code is told from other code by its
	// addresses.
	File FileID
	// Origin is the code, for a Resolver; it is not looked at here.
	Origin Origin
}

// FileID tells the contents of files apart.
type FileID uint64

// Origin is the code that a module of a recording stands for.
type Origin struct {
	// Module is the code as it was walked, without what walks need of it, and PID a process in which it was seen. nil:
	// it was not walked.
	Module *frames.Module
	PID    int
	// Kernel: it is the kernel's.
	Kernel bool
}

// Frame is one function at an address; several when calls are inlined there.
type Frame = named.Frame

// Resolver gives names to addresses. It is asked by one goroutine at a time, once
// in each Write for each distinct address.
type Resolver interface {
	// Resolve gives the functions at addr, an address in the ELF file's own
	// terms (run time less Bias), the innermost inlined call first. Nothing
	// when it knows none: the location is then written without a function.
	Resolve(m *ModuleInfo, addr uint64) []Frame
}

// Settler is a Resolver that knows when its answers are final. What it says of a module is kept then, and it is not
// asked for those locations again: it can let go of what they were found with.
type Settler interface {
	Resolver
	// Settled reports whether the answers for a module are final. It is asked after each of them.
	Settled(m *ModuleInfo) bool
}

// Interval is the time between two looks at one thread, booked to one stack.
type Interval struct {
	// Stack is where the thread was; from Intern of the same Builder.
	Stack sample.StackID
	// PID and TID say whose stack it is; TID is 0 for what belongs to no thread in particular.
	PID, TID int
	// NSPID and NSTID are the same as the process itself sees them, in its own pid
	// namespace; 0 where they are no others.
	NSPID, NSTID int
	// Comm is the process's name, Thread the thread's.
	Comm, Thread string
	// Role is what the thread is there for, "" where no run-time system tells.
	Role string
	// State is "running", "sleeping", "disk" or "stopped"; Wait is what a
	// sleeper waits in, empty if it does not sleep.
	State, Wait string
	// WaitsFor is what a sleeper waits for, in a few words that are the same for all who wait for it ("mutex
	// cache_mu"). It is empty if no more is known than Wait.
	WaitsFor string
	// Owner is the thread that held it when this sleep was first seen; 0: not known, [Nobody]: it was free.
	Owner int
	// End is when the interval ended, in nanoseconds of the Unix epoch; it
	// began Wall earlier. Not kept when the Builder aggregates.
	End int64
	// Samples is the number of ticks at which the stack was seen.
	Samples int64
	// Wall, RunQueue and CPU are nanoseconds: all of the time, the part queued
	// for a processor, and the part on one.
	Wall, RunQueue, CPU int64
}

// Meta describes the recording as a whole.
type Meta struct {
	// Start is when the recording began.
	Start time.Time
	// Period is the time between two ticks.
	Period time.Duration
	// Main is the module of the main binary, the first mapping of the profile;
	// nil if not known (yet, see Builder.SetMain).
	Main *ModuleInfo
	// Aggregate drops the times of intervals and adds up those with the same
	// stack and labels.
	Aggregate bool
	// Discard keeps no intervals: another Sink takes them.
	Discard bool
	// SpillTo is the directory for what does not stay in memory of a long recording, a file without a name. "" keeps
	// all in memory, and so does a directory that is full.
	SpillTo string
}
