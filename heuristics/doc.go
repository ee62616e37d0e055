// SPDX-License-Identifier: Apache-2.0

// Package heuristics finds the caller of code without call frame information, by analysing its instructions.
//
//	source := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: code})
//	module.Sources = append(module.Sources, source)
//	module.Calls = source
//
// # Algorithm
//
// Instructions run on symbolic values (state.go). A register or a word of the stack is one of: a register's value at
// the start of the run plus a constant; a word of memory at the start plus a constant; a constant; unknown. An
// [interpreter] runs one instruction (step), or all paths (runPaths); what a search wants of the paths is its
// [explorer].
//
//	function's start ── prologue ──► pc ── epilogue ──► return
//
// The epilogue (epilogue.go): from pc to returns. Where a path returns, its stack pointer gives the canonical frame
// address (CFA) by the registers at pc, and the registers that it has loaded from the stack are the saved ones. It
// needs no bounds of the function. Paths vote: a path has no vote if it ends in a trap, at the function's end or in an
// indirect jump, or returns with a callee-saved register changed.
//
// The prologue (prologue.go): from the function's start, whose CFA is known, to pc. There the stack pointer or frame
// pointer gives the CFA, and the stack words that have the start value of a register are where it is saved. It needs
// the function's start, and serves code that never returns, and queries that have only the stack pointer.
//
// If they differ (analysis.combine): where the epilogues agree among themselves, they hold if no path leads from the
// start to pc, or if the code is a part split off by the compiler (analysis.isEntry). Else the prologue holds.
//
// # Example
//
// What the x86-64 instructions of a function change. S is the stack pointer at its start, so the CFA is S+8, where the
// return address ends; other names of registers stand for their values there.
//
//	start                     rsp=S
//	push rbp                  rsp=S-8     [S-8]=rbp
//	mov  rbp, rsp             rbp=S-8
//	push rbx                  rsp=S-16    [S-16]=rbx
//	sub  rsp, 24              rsp=S-40
//	mov  rbx, rdi             rbx=rdi
//	call f                    rax, rcx, rdx, rsi, rdi, r8 to r11 unknown
//
// That is the prologue of the call's return address. rbp is S-8 and points to the caller's, so the CFA is rbp+16, rbp
// is saved at CFA-16, rbx at CFA-24. A second run leads from there to the return; F is rbp at its start:
//
//	start                     rbp=F
//	mov  rax, rbx             rax=rbx
//	mov  rbx, [rbp-8]         rbx=[F-8]
//	leave                     rsp=F+8     rbp=[F]
//	ret                       CFA=F+16
//
// The epilogue shows the same frame. The rule: CFA = rbp+16, rbp at CFA-16, rbx at CFA-24, the return address at CFA-8,
// with the method fp, as the instructions have set the frame pointer.
//
// # Files
//
//	source                        the questions: Rule, and the list of methods that it asks in turn
//	state, paths, codecache       values, registers and stack words; paths kept for later; code
//	instruction, writes           what an instruction does (x86; aarch64), which registers it changes; abi: what differs
//	interpreter                   run one instruction, run all paths
//	analysis                      the parts of a query's answer
//	epilogue, votes, prologue,    the searches, and the choice between them; rule is what comes out
//	combine, traits
//	roots, sigreturn, thunk,      code that is no function, and runtimes' own code
//	frameswitch, framemade,
//	bytecodehandler, argumentdrop
//	calls, returnpath             the walker's and HotSpot's other questions
//
// # Decoding
//
// The decoders are package x86 and, for AArch64, this one: golang.org/x/arch takes ten times as long, allocates, and
// misreads newer instructions.
//
// Sources: Intel SDM volume 2 (appendix A, opcode maps), System V ABI for x86-64 §3.2, Arm ARM (DDI 0487) chapter
// C4, AAPCS64 §6.
package heuristics
