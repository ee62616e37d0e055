// SPDX-License-Identifier: Apache-2.0

package frames

// Query asks a [RuleSource] for a rule.
type Query struct {
	PC        ModuleAddr
	AfterCall bool // PC is a return address: the instruction is the call before it
	SPOnly    bool // only the stack pointer is known (passive read)
}

// LookupPC returns the address to search tables for: PC, or one within the call before it.
func (q Query) LookupPC(arch Arch) ModuleAddr { return arch.lookupPC(q.PC, q.AfterCall) }

// RuleSource has the rules of one module, for one goroutine at a time.
type RuleSource interface {
	// Rule returns false if there is no rule. The Row is nil if the Rule suffices.
	Rule(q Query) (Rule, *Row, bool)
}

// Call is a call instruction.
type Call struct {
	Target ModuleAddr // possibly outside of the module; valid if Direct is set
	Direct bool       // the instruction has the target, and that is no PLT entry, which leads elsewhere
}

// CallSites describes calls in a module's code.
type CallSites interface {
	// CallBefore returns the call that ends at ret.
	CallBefore(ret ModuleAddr) (Call, bool)
	// FuncStart returns the start of the function that has pc; false if unknown.
	FuncStart(pc ModuleAddr) (ModuleAddr, bool)
}

// FunctionBounds is a [CallSites], or another source, that knows the ends of functions.
type FunctionBounds interface {
	// FuncRange returns the bounds of the function at pc, the end excluded.
	FuncRange(pc ModuleAddr) (start, end ModuleAddr, ok bool)
}

// StackEnds is a [CallSites] that knows code within functions to which only a prepared stack returns.
type StackEnds interface {
	EndsStack(pc ModuleAddr) bool
}

// TailCalls is a [CallSites] that knows which functions may end in a tail call.
type TailCalls interface {
	// EndsInTailCall reports whether the function at start may have a jump out of itself.
	EndsInTailCall(start ModuleAddr) bool
}

// StackSwitches is a [CallSites] that knows code on another stack than its caller's.
type StackSwitches interface {
	// SwitchesStack reports whether the function has loaded another stack's pointer before pc.
	SwitchesStack(pc ModuleAddr, afterCall bool) bool
}

// PoppedRegisters is a [CallSites] that knows which registers were just popped.
type PoppedRegisters interface {
	// Popped returns the register whose pop left the word n × 8 bytes below the stack pointer (1: the last pop). pc is
	// behind or between pops. It returns false if uncertain.
	Popped(pc ModuleAddr, n int) (reg uint8, ok bool)
}

// Module is an executable mapping of a file, the kernel (vDSO) or a JIT compiler.
type Module struct {
	Start, End Addr   // End excluded
	Bias       uint64 // Addr − ModuleAddr, modulo 2⁶⁴; 0 for code made at run time
	Name       string // file's path, or a name in brackets
	BuildID    string // GNU build id in hex, "" if none
	// Generated code is made at run time. Returns from such code into such code need not follow a call.
	Generated bool
	// NoFP means that the frame pointer's register has other values, so that only rules of sources are used.
	NoFP    bool
	Sources []RuleSource // in this order
	Calls   CallSites    // nil if the code cannot be read: the frame pointer alone leads on
	Origin  Origin       // for the code that made the module
	Owner   any          // what has set the sources, for the same code
}

// Origin is where a module's code comes from.
type Origin interface {
	// FileOffset returns the file, or a name in brackets, and the module's offset in it, in bytes.
	FileOffset() (file string, offset uint64)
}
