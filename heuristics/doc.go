// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code without call frame information, by analysing its instructions.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Two abstract interpretations share one engine (interpreter, state). Its values, of registers and stack slots: a
// register's value at the start plus a constant, a word loaded from such an address, or unknown.
//
//	start ── prologueAnalysis ──► pc ── forwardAnalysis ──► returns
//
// forwardAnalysis follows both sides of branches, within a budget, without function bounds. The stack pointer at a
// return gives the canonical frame address (CFA), the registers popped on the way are the saved ones. A path proves
// nothing if it ends in a trap, at the function's end or in an indirect jump, or returns with a callee-saved register
// changed.
//
// prologueAnalysis needs the function's start. It gives the CFA by stack pointer and by frame pointer, and serves code
// that never returns, and passive reads, which have only the stack pointer.
//
// If they differ: where the forward analysis of the function's start shows no function entry (a part split off by the
// compiler), the forward result holds, else that of the prologue.
//
// # Files
//
// abi.go lists what differs by architecture (…_x86.go, …_aarch64.go). [Source.Rule] (source.go; memo.go keeps answers)
// asks in this order, until one answers:
//
//	sigreturn     a signal trampoline
//	roots         the first function of a program, a thread or a prepared stack
//	frameswitch   code about to continue another frame
//	argdrop_x86   V8's code with its return address in a register
//	analyse       the two interpretations (forward, helpercalls; prologue, prologue_finding), after the short ways of
//	              JIT code (jitframe, epilogue_x86); byte code handlers (bytecodehandler, functiontraits)
//	thunk         code that forwards a call
//
// A finding (finding.go) becomes the rule. The walker's other questions: branches, tailcalls, popped_x86, stackend;
// HotSpot's: returnpath_x86. The engine: interpreter, value, exec, move_x86, writes_x86, memory_aarch64.
//
// # Decoding
//
// The decoders are package x86 and, for AArch64, this one: golang.org/x/arch takes ten times as long, allocates, and
// misreads newer instructions.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for x86-64 §3.2, Arm ARM (DDI 0487) chapter
// C4, AAPCS64 §6.
package heuristics
