// SPDX-License-Identifier: Apache-2.0

// Package frames walks a thread's stack from its registers and its memory.
//
//	var w frames.Walker
//	w.Init(space, &regs, memory)
//	for w.Next() {
//		f := w.Frame()
//		fmt.Printf("%#x\n", f.PC)
//	}
//	complete := w.StopReason() == frames.StopRoot
//
// # Algorithm
//
// A walk repeats: find the module of the program counter, find the [Rule] at that instruction, apply it. A rule gives
// the canonical frame address (CFA: the caller's stack pointer at the call, DWARF 5 §6.4), the return address, and the
// saved registers of the caller:
//
//	higher  ┌──────────────────────┐
//	CFA ──► ├──────────────────────┤     rule: CFA = rsp + 40, rbp at CFA − 16
//	        │ return address       │ CFA − 8
//	        │ caller's rbp         │ CFA − 16
//	        │ local variables      │
//	lower   └──────────────────────┘ ◄── rsp
//
// The walk ends where a rule says that there is no caller (complete), or something cannot be known ([StopReason]).
//
// A rule depends on the program counter alone. It comes from the [Module]'s sources, in their order, and the [Space]
// caches it for all threads and ticks. [Walker] iterates; apply.go applies rules, quickstep.go plain ones in a shorter
// way with the same result.
//
// # Methods
//
// Ways to a frame's caller, in the order in which they are tried ([Frame.Method]):
//
//	method     by                                    trusted if the return address
//	─────────  ────────────────────────────────────  ─────────────────────────────────────────────────────
//	context    the thread's registers: innermost     (none)
//	cfi        a source's rule: tables of compilers  is in a module
//	           and runtimes
//	fp         a source's rule: the instructions     follows a call, or both are generated code
//	           have set the frame pointer
//	heuristic  a source's rule: the instructions     follows a call, or both are generated code
//	fp         a rule whose register is unknown and  follows a call that can have led to this function, and so
//	           found on the stack                    do all further ones up to the root; no other value does
//	           (registersearch.go)
//	fp         no rule: the two words at the frame   follows a call that can have led to this function, directly
//	           pointer (framepointer.go)             or by a tail call, or both are generated code
//	scan       no rule: the first such word on the   follows a call that can have led to this function
//	           stack (scan.go); a guess
//
// Where no call is needed, an address counts as one that follows a call: a signal trampoline's, and, outside of
// generated code, the first instruction of a prepared stack ([cacheEntry.exact]).
//
// # Invariants
//
// A walk allocates nothing, except in sources of rules that are not cached. It ends: each step leads further out, or is
// one of a bounded number of changes of stacks.
//
// Standard library only: what is read is behind [Memory], [RuleSource] and [CallSites].
package frames
