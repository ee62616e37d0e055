// SPDX-License-Identifier: Apache-2.0

package frames

// Query asks a [RuleSource] for a rule.
type Query struct {
	// PC is the program counter as a module address (run-time address − Module.Bias).
	PC Addr
	// Caller: PC is a return address; the current instruction is the call before it.
	Caller bool
	// SPOnly: only the stack pointer is known (passive read); no other CFA register is usable.
	SPOnly bool
}

// Lookup gives the address to search tables for: PC, or one within the call before it.
func (q Query) Lookup(arch Arch) Addr {
	if q.Caller {
		return q.PC - arch.CallLen()
	}
	return q.PC
}

// RuleSource gives rules for one module's code. One goroutine at a time calls it.
type RuleSource interface {
	// Rule gives the rule at q, and its Row if that is needed; false if there is none.
	Rule(q Query) (Rule, *Row, bool)
}

// Call is a call instruction.
type Call struct {
	// Target is the module address that a direct call goes to, possibly outside of the module.
	Target Addr
	// Direct: Target is known.
	Direct bool
}

// CallSites describes calls in a module's code. All addresses are module addresses.
type CallSites interface {
	// CallBefore gives the call instruction that ends at ret.
	CallBefore(ret Addr) (Call, bool)
	// FuncStart gives the start of pc's function, if known (symbols, call frame information).
	FuncStart(pc Addr) (Addr, bool)
}

// Extents is a [CallSites] that knows the ends of functions.
type Extents interface {
	// FuncRange gives the bounds of pc's function, end excluded.
	FuncRange(pc Addr) (start, end Addr, ok bool)
}

// StackEnds is a [CallSites] that knows code within functions to which only a stack prepared by hand returns.
type StackEnds interface {
	EndsStack(pc Addr) bool
}

// Jumps is a [CallSites] that knows which functions may end in a tail call: a jump to a function that returns in their
// place.
type Jumps interface {
	// LeavesByJump reports whether the function that starts at start has, or may have, a jump out of itself.
	LeavesByJump(start Addr) bool
}

// Switches is a [CallSites] that knows code on another stack than its caller's.
type Switches interface {
	// ChangesStack reports whether pc's function has loaded the stack pointer from elsewhere before pc. caller: pc is a
	// return address.
	ChangesStack(pc Addr, caller bool) bool
}

// Module is one executable mapping, of a file, the kernel (vDSO) or a JIT compiler.
type Module struct {
	// Start and End are its run-time addresses, End excluded.
	Start, End Addr
	// Bias is run-time address − module address (the ELF file's), modulo 2⁶⁴.
	Bias Addr
	// Name is the file's path, or a name in brackets.
	Name string
	// BuildID is the GNU build id in hex, "" if none.
	BuildID string
	// Generated: made at run time. Interpreters push an address and jump, so that a return address need not follow a
	// call.
	Generated bool
	// NoFP: the frame pointer's register has other values, and the stack is not scanned; only a source's rule is
	// believed.
	NoFP bool
	// Sources give rules, in this order.
	Sources []RuleSource
	// Calls validates return addresses; nil if the code cannot be read.
	Calls CallSites
	// Origin is for the module's maker.
	Origin Origin
}

// Origin is where a module's code comes from.
type Origin interface {
	// Place gives the file, or a name in brackets, and the module's offset in it, in bytes.
	Place() (file string, offset uint64)
}
