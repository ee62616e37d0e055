// SPDX-License-Identifier: Apache-2.0

package frames

// Frame is one activation of a function on a stack.
type Frame struct {
	PC        Addr    // next instruction; if AfterCall, a return address
	SP        Addr    // 0 if unknown (by frame pointer on arm64, longjmp's rule, V8's push of arguments)
	FP        Addr    // frame pointer's register, 0 if unknown; it may have another value
	Module    *Module // of PC; nil if unknown
	Method    Method
	AfterCall bool // the current instruction is the call before PC; false for innermost and interrupted frames
}

// LookupPC returns the address to name: PC, or one within the call before it.
func (f *Frame) LookupPC(arch Arch) Addr { return arch.lookupPC(f.PC, f.AfterCall) }

// StopReason is why a walk ended.
type StopReason uint8

// The stop reasons.
const (
	StopNone StopReason = iota // the walk goes on
	StopRoot                   // the thread's first function, or a return address 0, is reached: the stack is complete
	// StopNoRule means that no source has a rule and the scan found nothing, or the return address is in no code.
	StopNoRule
	StopBadMemory // a place that a rule gives is not mapped, or its expression has no value (then UnreadAddr is 0)
	StopStackCut  // a place that a rule gives is beyond the copy of the stack
	StopDepth     // the depth limit
	StopLoop      // the next frame would not be further out
	StopUnproven  // a register is not known that a rule, or code without a rule, needs
	// StopGuessedRoot is StopRoot of a walk with a frame by [MethodScan]. No Walker returns it.
	StopGuessedRoot
	NumStopReasons
)

var stopNames = [NumStopReasons]string{
	"none", "root", "no-rule", "bad-memory", "stack-cut", "depth", "loop", "unproven", "root",
}

// String returns the name in JSON.
func (s StopReason) String() string { return stopNames[s%NumStopReasons] }

// Complete reports whether the walk reached the thread's first function.
func (s StopReason) Complete() bool { return s == StopRoot || s == StopGuessedRoot }
