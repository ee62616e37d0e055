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
// A walk repeats three steps: find the module of the program counter, find the [Rule] at that instruction, apply it. A
// rule gives the canonical frame address (CFA: the caller's stack pointer at the call, DWARF 5 §6.4), the return
// address, and the caller's saved registers:
//
//	higher  ┌──────────────────────┐
//	CFA ──► ├──────────────────────┤     rule: CFA = rsp + 40, rbp at CFA − 16
//	        │ return address       │ CFA − 8
//	        │ caller's rbp         │ CFA − 16
//	        │ local variables      │
//	lower   └──────────────────────┘ ◄── rsp
//
// The walk ends, complete, at a rule without a caller or that gives the return address 0; else where something cannot
// be known ([StopReason]).
//
// A rule depends on the program counter alone. The first of the [Module]'s sources with a rule decides. The [Space]
// caches it for all threads (lookup.go, cache.go). step.go chooses the way to the caller, and apply.go computes its
// registers.
//
// # Methods
//
// Ways to a frame's caller, in the order of Walker.step:
//
//	method     by                                    trusted if the return address
//	─────────  ────────────────────────────────────  ─────────────────────────────────────────────────────
//	context    the thread's registers: innermost     (none)
//	cfi        a source's rule: tables of compilers  is in a module
//	           and runtimes
//	fp         a source's rule: the instructions     follows a call, or both are generated code
//	           have set the frame pointer
//	heuristic  a source's rule: the instructions     follows a call, or both are generated code
//	(assumed)  a rule whose register is unknown: it  follows a call that can have led to this function, and the CFA
//	           has its value of the innermost frame  is further out; not for an interrupted frame
//	           (applyWithAssumedReg)
//	(by SP)    a rule of the instructions, where     as for its source
//	           tables led to no code
//	(by SP)    a rule of the sources for the stack   as for its source
//	           pointer alone ([Query.SPOnly])
//	fp         a rule whose register is unknown and  follows a call that can have led to this function, and so
//	           found on the stack (searchRegister)   do all further ones up to the root; no other value does
//	fp         no rule: the two words at the frame   follows a call that can have led to this function, directly
//	           pointer (applyFramePointer)           or by a tail call, or both are generated code, or is in
//	                                                 code that cannot be read (a core's file is missing) and
//	                                                 further such words lead out of that
//	scan       no rule: the first such word on the   follows a call that can have led to this function
//	           stack (applyScan); a guess
//	heuristic, no rule, or the first function, and   that runtime's matter
//	scan       a runtime knows the stack that the
//	           thread has left
//	           ([LeftStack])
//
// Ways in brackets have the [Frame.Method] of their rule. The last two ways are also tried where a [CFAFinder] finds no
// frame, or a rule's return address is not trusted. An address by a rule with [FlagExactPC] is not checked, as a signal
// can interrupt any code.
//
// A signal trampoline and, outside of generated code, the first instruction of a prepared stack are trusted without a
// call ([resolvedRule.pcIsCurrent]).
//
// # Words
//
// An address in the process is an [Addr]; one in a module's file, for which sources are asked, a [ModuleAddr].
//
// A register is known if [Regs.Known] has its bit, and found if a search of the stack gave it. A frame is interrupted
// if its program counter is not a return address: the innermost frame, and that beyond a signal's.
//
// # Invariants
//
// A walk allocates nothing, except for answers that are not cached and in a Walker's first search of a register. It
// ends: each step leads further out, or is one of a bounded number of changes of stacks.
package frames
