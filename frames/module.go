// SPDX-License-Identifier: Apache-2.0

package frames

// Query asks a [RuleSource] for a rule.
type Query struct {
	// PC is the program counter as a module address (run-time address − Module.Bias).
	PC Addr
	// Caller is set if PC is a return address. The current instruction is then the call before it.
	Caller bool
	// SPOnly is set if no register but the stack pointer is known (passive read). The CFA must then be relative to that.
	SPOnly bool
}

// Lookup gives the address to search tables for: PC, or one within the call before it.
func (q Query) Lookup(arch Arch) Addr {
	if q.Caller {
		return q.PC - arch.CallLen()
	}
	return q.PC
}

// RuleSource gives rules for the code of one module. It is for one goroutine at a time.
type RuleSource interface {
	// Rule gives the rule at q, and a Row if the rule does not fit into a Rule, else nil; false if there is no rule.
	Rule(q Query) (Rule, *Row, bool)
}

// Call is a call instruction.
type Call struct {
	// Target is the module address that a direct call goes to, possibly outside of the module.
	Target Addr
	// Direct is set if Target is known.
	Direct bool
}

// CallSites describes calls in a module's code. All addresses are module addresses.
type CallSites interface {
	// CallBefore gives the call instruction that ends at ret.
	CallBefore(ret Addr) (Call, bool)
	// FuncStart gives the start of the function that has pc, by symbols or call frame information; false if unknown.
	FuncStart(pc Addr) (Addr, bool)
}

// Extents is a [CallSites] that knows the ends of functions.
type Extents interface {
	// FuncRange gives the bounds of the function that has pc, the end excluded.
	FuncRange(pc Addr) (start, end Addr, ok bool)
}

// StackEnds is a [CallSites] that knows code within functions to which only a stack prepared by hand returns.
type StackEnds interface {
	// EndsStack reports whether pc is such code.
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
	// ChangesStack reports whether the function that has pc has loaded another stack's pointer before pc. caller is set if
	// pc is a return address.
	ChangesStack(pc Addr, caller bool) bool
}

// Module is one executable mapping, of a file, the kernel (vDSO) or a JIT compiler.
type Module struct {
	// Start and End are the bounds of the mapping, run-time addresses, End excluded.
	Start, End Addr
	// Bias is the run-time address less the module address (that in the ELF file), modulo 2⁶⁴.
	Bias Addr
	// Name is the file's path, or a name in brackets.
	Name string
	// BuildID is the GNU build id in hex, "" if none.
	BuildID string
	// Generated is set if the code was made at run time. A return address in it need not follow a call, as interpreters
	// push an address and jump.
	Generated bool
	// NoFP is set if the frame pointer's register has other values. Only the rule of a source is then used: neither the
	// frame pointer nor a scan.
	NoFP bool
	// Sources give rules, in this order.
	Sources []RuleSource
	// Calls validates return addresses; nil if the code cannot be read.
	Calls CallSites
	// Origin is for the code that made the module. The walker does not use it.
	Origin Origin
}

// Origin is where a module's code comes from.
type Origin interface {
	// Place gives the file, or a name in brackets, and the module's offset in it, in bytes.
	Place() (file string, offset uint64)
}
