// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code that has no call frame
// information, by reading the code.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Two abstract interpretations of the machine code share one engine (state,
// interpreter). A state says for each register whether it is some register's value at
// the start plus a constant, a word loaded from such an address, or unknown.
// It also says which stack slots hold such values.
//
//   - Forwards from pc to the returns of the function (forwardAnalysis); this needs no function
//     bounds. Both sides of branches are followed,
//     within a budget. The stack pointer at the return gives the canonical
//     frame address (CFA), the registers popped on the way give the saved
//     registers. A path that ends in a trap, at the end of the function or in
//     an indirect jump proves nothing. Nor does one that returns with a
//     register changed that the ABI says must be kept.
//   - From the function's start to pc (prologueAnalysis), where the start is known: gives the CFA
//     relative to the stack pointer and to the frame pointer. It serves code
//     that never returns, and looks that know the stack pointer only.
//
// JIT code has no bounds. There a short way comes first (proof): it looks for nothing but the
// end of a frame with a frame pointer.
//
// Where both have an answer they confirm each other. Where they differ, the code at the start decides. If its own
// forward analysis shows that it is no function entry (a part split off by the compiler), forwards wins, else the
// prologue.
//
// # Decoding
//
// The engine has its own decoders; most instructions of x86-64 take a short way through
// theirs (x86.decodePlain). The ones of golang.org/x/arch take ten times
// as long (155 ns an instruction against 15, BenchmarkDecode), and allocate for some
// operands. They take newer instructions (VEX, EVEX, APX, pointer authentication)
// for something else; only the length matters here. The tests hold the
// x86-64 decoder's lengths against x86asm's.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for
// x86-64 §3.2, Arm ARM (DDI 0487) chapter C4, AAPCS64 §6.
package heuristics
