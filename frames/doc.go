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
// A walk repeats one step: find the module of the program counter, find the [Rule] that holds at that instruction,
// apply it. A rule gives the canonical frame address (CFA: the caller's stack pointer at the call, DWARF 5 §6.4), the
// return address, and those of the caller's registers that were saved:
//
//	higher  ┌──────────────────────┐
//	CFA ──► ├──────────────────────┤     rule: CFA = rsp + 40, rbp at CFA − 16
//	        │ return address       │ CFA − 8
//	        │ caller's rbp         │ CFA − 16
//	        │ local variables      │
//	lower   └──────────────────────┘ ◄── rsp
//
// The walk ends where a rule says that there is no caller (complete), or where something cannot be known
// ([StopReason]).
//
// A rule depends on the program counter alone. The [Space] caches it for all threads and ticks. It comes from the
// module's sources, in their order. Without one, the walker tries the frame pointer, then scans the stack for a word
// that follows a call. [Method] has the order of trust.
//
// # Parts
//
// [Walker] iterates. Its unwinder computes one frame's caller (apply.go). Plain rules take a shorter way with the same
// result (quickstep.go). A walk that lacks a register searches for it (hypothesis.go).
//
// # Invariants
//
//   - A walk allocates nothing, except in the sources of rules that are not cached.
//   - Every walk ends: each step leads further out, or counts as one of a bounded number of changes of stacks.
//   - Standard library only: what is read is behind [Memory], [RuleSource] and [CallSites].
package frames
