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
// A walk starts at a register set and repeats one step: find the module that the program counter is in, find the
// [Rule] that holds at that instruction, apply it. Applying a rule computes the canonical frame address (CFA: the
// caller's stack pointer at the call, DWARF 5 §6.4), the return address, and those of the caller's registers that
// were saved. These are the register set of the next step. The walk ends when a rule says that there is no caller
// (complete), or when something cannot be known; [StopReason] says which.
//
// A rule for a program counter does not depend on the contents of the stack. So it is computed once, and kept in
// the [Space]'s cache across threads, snapshots and ticks. Rules come from the module's sources, in falling trust.
// They are call frame information or Go's tables, then the analysis of the instructions, then a frame pointer that
// the function's own instructions prove. Only where no source has an answer the walker looks through the stack for
// a word that follows a call instruction (the scan). The frame says so.
//
// A rule is applied in one of two ways. Almost all are plain, and take the quick
// step ([Walker.Next]); what is not, and what may go wrong, takes the full one.
// Both give the same frames.
//
// The package imports the standard library only and knows nothing of processes,
// files or ptrace: what it reads is behind [Memory], [RuleSource] and
// [CallSites].
package frames
