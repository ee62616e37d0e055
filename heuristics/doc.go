// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code without call frame information, by analysing its instructions.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Two abstract interpretations of the machine code share one engine (interpreter, state). A state has for each
// register and for stack slots: a register's value at the start plus a constant, a word loaded from such an address,
// or unknown.
//
//	start ── prologueAnalysis ──► pc ── forwardAnalysis ──► returns
//
// The two are:
//
//   - forwardAnalysis goes from pc to the returns of the function, without function bounds. It follows both sides of
//     branches, within a budget. The stack pointer at a return gives the canonical frame address (CFA), the registers
//     popped on the way are the saved ones. A path proves nothing if it ends in a trap, at the end of the function or
//     in an indirect jump, or returns with a callee-saved register changed.
//   - prologueAnalysis goes from the function's start, if known, to pc. It gives the CFA relative to the stack pointer
//     and to the frame pointer. It serves code that never returns, and passive reads, which have the stack pointer
//     only.
//
// If the results differ, the forward analysis of the function's start decides: if that is no function entry (a part
// split off by the compiler), the forward result holds, else that of the prologue.
//
// # Files
//
// Files named …_x86.go and …_aarch64.go hold what is of one architecture; abi.go lists what that is. [Source.Rule]
// (source.go, with answers kept in memo.go) asks in this order, until one answers:
//
//	sigreturn     a signal trampoline
//	roots         the first function of a program, a thread or a prepared stack
//	frameswitch   code about to continue another frame: longjmp, swapcontext
//	argdrop_x86   V8's code with its return address in a register
//	analyse       the two interpretations, and which of them holds:
//	  jitframe      code of which a callee makes the frame, or that has just made it
//	  proof_x86     the first path to a return, for code that keeps only the frame pointer
//	  forward       from pc to the returns; helpercalls: assembly that calls its own helpers
//	  prologue      from the start to pc; prologue_finding: as a finding
//	  handler       byte code handlers, which never return; traits: whether code is one
//	thunk         code that forwards a call
//
// A finding (finding.go) becomes the rule. The walker's other questions: branches (which call ends at an address),
// tailcalls, popped_x86, stackend; HotSpot's: returnpath_x86. The engine: interpreter, value, exec, move_x86,
// writes_x86, memory_aarch64.
//
// # Decoding
//
// The decoders are package x86 and, for AArch64, this one. Those of golang.org/x/arch take ten times as long,
// allocate, and misread newer instructions (VEX, EVEX, APX, pointer authentication), of which only the length
// matters here. Tests compare the x86-64 lengths with x86asm's.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for x86-64 §3.2, Arm ARM (DDI 0487) chapter
// C4, AAPCS64 §6.
package heuristics
