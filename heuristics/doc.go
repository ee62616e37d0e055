// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code without call frame information, by analysing its instructions.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Instructions run on symbolic values (state.go). A register or a stack word is a register's start value plus a
// constant, a word of memory at the start plus a constant, a constant, or unknown. An [interpreter] runs one
// instruction (step), or all paths for an [explorer] (runPaths).
//
//	function's start ── prologue ──► pc ── epilogue ──► return
//
// The epilogue (epilogue.go) runs from pc to returns. At a return, the stack pointer gives the canonical frame address
// (CFA), and the registers loaded from the stack are the saved ones. It needs no bounds of the function. Paths vote. A
// path has no vote if it ends in a trap, at the function's end or in an indirect jump, or changes a callee-saved
// register.
//
// The prologue (prologue.go) runs from the function's start, whose CFA is known, to pc. The stack words with a
// register's start value are its places. It needs the function's start. It serves code that never returns, and queries
// that have only the stack pointer.
//
// The choice between them (analysis.combine). A part is code split off a function (not analysis.isEntry).
//
//	no path from the start to pc        epilogue
//	the path leaves no register with    epilogue; V8's handlers, if no path returns
//	the CFA, or paths differ in it
//	no path from pc to a return         prologue; in a part, V8's handlers, unless a misaligned return agrees
//	both agree                          prologue, and the registers that the epilogue restores
//	both differ                         prologue; in a part, or if the state at pc is a guess, the epilogue, if all
//	                                    paths agree on it
//	none of these, in V8's builtins     prologue (analysis.frameOfBuiltin)
//
// # Example
//
// x86-64 instructions and their effects. S is the stack pointer at the start, and the CFA is S+8.
//
//	start                     rsp=S
//	push rbp                  rsp=S-8     [S-8]=rbp
//	mov  rbp, rsp             rbp=S-8
//	push rbx                  rsp=S-16    [S-16]=rbx
//	sub  rsp, 24              rsp=S-40
//	mov  rbx, rdi             rbx=rdi
//	call f                    rax, rcx, rdx, rsi, rdi, r8 to r11 unknown
//
// This is the prologue of the call's return address: CFA = rbp+16, rbp saved at CFA-16, rbx at CFA-24. A second run
// leads from there to the return. F is rbp at its start:
//
//	start                     rbp=F
//	mov  rax, rbx             rax=rbx
//	mov  rbx, [rbp-8]         rbx=[F-8]
//	leave                     rsp=F+8     rbp=[F]
//	ret                       CFA=F+16
//
// Both agree. The rule is CFA = rbp+16, rbp at CFA-16, rbx at CFA-24, the return address at CFA-8, method fp.
//
// # Files
//
//	source                        the questions: Rule, and the list of methods
//	state, paths                  values, registers and stack words; paths kept for later; code
//	instruction                   effects of an instruction (x86; aarch64); abi: differences of architectures
//	interpreter                   run one instruction, run all paths; the parts of a query's answer
//	epilogue, votes, prologue,    the searches, the choice between them, and the result (rule)
//	combine, traits
//	roots, sigreturn, frameswitch code that is no function, or switches frames
//	arguments, bytecodehandler,   V8's code: by its instructions, by [Conventions] or with Options.JIT
//	framemade
//	calls, returnpath             other questions of the walker, and of HotSpot
//
// # Decoding
//
// The decoders are package x86 and, for arm64, this one. golang.org/x/arch is slower and allocates.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for x86-64 §3.2, Arm ARM (DDI 0487) chapter
// C4, AAPCS64 §6.
package heuristics
