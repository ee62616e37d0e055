// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code without call frame information, by analysing its instructions.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Two abstract interpretations of the machine code share one engine (state, interpreter). A state has for each
// register, and for stack slots: a register's value at the start plus a constant, a word loaded from such an address,
// or unknown.
//
//	start ── prologueAnalysis ──► pc ── forwardAnalysis ──► returns
//
// The two are:
//
//   - Forwards from pc to the returns of the function (forwardAnalysis), without function bounds. Both sides of
//     branches are followed, within a budget. The stack pointer at the return gives the canonical frame address (CFA),
//     the registers popped on the way give the saved registers. A path that ends in a trap, at the end of the function
//     or in an indirect jump proves nothing, nor does one that returns with a callee-saved register changed.
//   - From the function's start to pc (prologueAnalysis), if the start is known: gives the CFA relative to the stack
//     pointer and to the frame pointer. It serves code that never returns, and passive reads, which have the stack
//     pointer only.
//
// JIT code has no bounds. For it a fast analysis comes first (proof), which looks only for the end of a frame with a
// frame pointer.
//
// If both have a result they confirm each other. If they differ, the code at the start decides: if its own forward
// analysis shows that it is no function entry (a part split off by the compiler), forwards wins, else the prologue.
//
// # Decoding
//
// The engine has its own decoders (package x86 and, for AArch64, this one). Those of golang.org/x/arch take ten times
// as long (155 ns an instruction against 15, BenchmarkDecode), allocate for some operands, and misread newer
// instructions (VEX, EVEX, APX, pointer authentication), of which only the length matters here. Tests compare the
// x86-64 decoder's lengths with x86asm's.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for x86-64 §3.2, Arm ARM (DDI 0487) chapter C4,
// AAPCS64 §6.
package heuristics
