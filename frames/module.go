// SPDX-License-Identifier: Apache-2.0

package frames

// Query asks a [RuleSource] for a rule.
type Query struct {
	// PC is the program counter as an address of the module's own file (run
	// time address less Module.Bias). For a caller it is the return address.
	PC Addr
	// Caller: PC is a return address, so that the instruction that the thread
	// is at is the call before it. Look up Lookup().
	Caller bool
	// SPOnly: only the stack pointer is known (the thread was peeked at); a
	// rule whose CFA is relative to another register is of no use.
	SPOnly bool
}

// Lookup gives the address by which tables are searched: PC for the innermost
// frame, an address inside of the call instruction for a caller.
func (q Query) Lookup(arch Arch) Addr {
	if q.Caller {
		return q.PC - arch.CallLen()
	}
	return q.PC
}

// RuleSource gives rules for the code of one module. Methods are called by one
// goroutine at a time.
type RuleSource interface {
	// Rule gives the rule that holds at q, and its row when the rule does not
	// hold all of it; false if the source knows none.
	Rule(q Query) (Rule, *Row, bool)
}

// Call is what a [CallSites] found before a return address.
type Call struct {
	// Target is the address, in the module's own terms, that a direct call
	// goes to. It can lie outside of the module.
	Target Addr
	// Direct: Target is known.
	Direct bool
}

// CallSites tells about the calls in a module's code. It is what makes a word on
// the stack believable as a return address.
type CallSites interface {
	// CallBefore reports whether a call instruction ends at ret (module's own
	// address), and what it calls.
	CallBefore(ret Addr) (Call, bool)
	// FuncStart gives the first address of the function that pc is in, where
	// something (symbols, call frame information) tells.
	FuncStart(pc Addr) (Addr, bool)
}

// Extents is what a [CallSites] implements that can tell where functions end.
type Extents interface {
	// FuncRange gives the first address of the function that pc is in, a module's own, and that behind its last.
	FuncRange(pc Addr) (start, end Addr, ok bool)
}

// StackEnds is what a [CallSites] implements that recognises code in the middle of a function to which only a stack
// prepared by hand returns.
type StackEnds interface {
	// EndsStack reports whether pc, a module's own, is such a place.
	EndsStack(pc Addr) bool
}

// Jumps is what a [CallSites] implements that can tell whether a function may end in a
// jump to another one, which then returns in its place (a tail call).
type Jumps interface {
	// LeavesByJump reports whether the function that starts there, a module's own
	// address, has a jump out of itself, or may have one.
	LeavesByJump(start Addr) bool
}

// Switches is what a [CallSites] implements that can tell code that runs on another stack than its caller's.
type Switches interface {
	// ChangesStack reports whether the function that pc is in, a module's own address, has loaded the stack pointer
	// from elsewhere by the time that it is at pc. caller says that pc is a return address.
	ChangesStack(pc Addr, caller bool) bool
}

// Module is one executable mapping of a process: a run of addresses whose code
// comes from one file, from the kernel (vDSO) or from a JIT compiler.
type Module struct {
	// Start and End delimit the mapping's addresses, End excluded.
	Start, End Addr
	// Bias is what to subtract from a run-time address to get the module's own
	// (the ELF file's) address. It wraps around.
	Bias Addr
	// Name is the file's path, or a name in square brackets.
	Name string
	// BuildID is the file's GNU build id in hex, empty if it has none.
	BuildID string
	// Generated: the code was made at run time. Such code need not return to
	// where a call instruction is: interpreters push an address and jump.
	Generated bool
	// NoFP: the code keeps other values in the frame pointer's register, so that it is
	// believed only where a source has a rule by it. Nor is its stack searched for return addresses.
	NoFP bool
	// Sources are asked for a rule in this order.
	Sources []RuleSource
	// Calls validates return addresses; nil where the code cannot be read.
	Calls CallSites
	// Origin is where the code comes from, as whoever made the module knows it. The walker does not look at it.
	Origin Origin
}

// Origin is where a module's code comes from. Who makes modules keeps there what it knows beyond the place.
type Origin interface {
	// Place gives the file, or a name in square brackets, and the offset in it at which the module begins, in bytes.
	Place() (file string, offset uint64)
}
