// SPDX-License-Identifier: Apache-2.0

package frames

// Frame is one activation of a function on a stack.
type Frame struct {
	// PC is the program counter: exact for the innermost frame and for one
	// that a signal interrupted, else the return address.
	PC Addr
	// SP is the stack pointer of this frame at that point; 0 if it is not known,
	// as where an arm64 frame was found by the frame pointer.
	SP Addr
	// FP is the frame pointer register at that point, 0 if it is not known. What code uses it for differs.
	FP Addr
	// Module is where PC lies, nil if in no known mapping.
	Module *Module
	// Method says how the frame was found.
	Method Method
	// Caller: PC is a return address.
	Caller bool
}

// Lookup gives the address to look names up by: PC, or one inside of the call
// instruction when PC is a return address.
func (f *Frame) Lookup(arch Arch) Addr {
	if f.Caller {
		return f.PC - arch.CallLen()
	}
	return f.PC
}

// StopReason says why a walk ended.
type StopReason uint8

// The stop reasons.
const (
	StopNone StopReason = iota // the walk goes on
	StopRoot                   // the thread's first function: complete
	// no source knows the code, and the scan found nothing; or the return address is in no code
	StopNoRule
	StopBadMemory // a place where a rule points to is not mapped
	StopStackCut  // the copy of the stack ends there
	StopDepth     // the depth limit
	StopLoop      // the next frame would not be further out
	StopUnproven  // a register is needed that the look could not see
	NumStopReasons
)

// String gives the name that recordings and JSON use.
func (s StopReason) String() string {
	switch s {
	case StopRoot:
		return "root"
	case StopNoRule:
		return "no-rule"
	case StopBadMemory:
		return "bad-memory"
	case StopStackCut:
		return "stack-cut"
	case StopDepth:
		return "depth"
	case StopLoop:
		return "loop"
	case StopUnproven:
		return "unproven"
	}
	return "none"
}

// Complete reports whether the walk reached the thread's first function.
func (s StopReason) Complete() bool { return s == StopRoot }
