// SPDX-License-Identifier: Apache-2.0

// Package golang reads the tables that the Go linker puts into every Go
// program, stripped or not, and gives rules for the walker and names from them.
//
// # Algorithm
//
// The section .gopclntab starts with a header (runtime/symtab.go, pcHeader) that
// says where its parts are: function names, file names, pc-value tables, and a
// table of functions sorted by address. A lookup bisects the functions, then
// decodes one pc-value table from the function's start up to the pc. Nothing is
// parsed before it is asked for. The formats of Go 1.2, 1.16, 1.18 and 1.20 (still
// that of 1.26) are told apart by the header's magic number.
//
// The table pcsp says for each instruction how far the stack pointer is below
// its value at the function's entry, so that the CFA is exact at every pc:
//
//   - x86-64: CFA = rsp + delta + 8, the return address at CFA−8, the caller's
//     rbp at CFA−16 once the prologue has stored it (its first bytes tell);
//   - arm64: CFA = sp + delta, the return address at 0(sp) and the caller's x29
//     at −8(sp) once a frame exists, in the link register before.
//
// Functions that load the stack pointer with a value (flag SPWRITE) have no true delta. There, a small data flow over
// the instructions of that function follows the stack and the frame pointer from the entry on. Most of these
// functions keep rbp (x29), which still points into the frame on the stack that they left. So systemstack, the calls
// into the vDSO, cgocallback and asmcgocall lead back to the goroutine that they came from. mcall and mstart end a
// stack; morestack continues where g.sched says. Injected calls (sigpanic, asyncPreempt) and signal trampolines lead
// to an exact pc. Where none of this proves anything, the rule refuses, rather than let a guess take over.
//
// Names of inlined calls come from the inline tree, which is found relative to the symbol go:func.*. Stripped
// programs still hold its address in their moduledata, which is found by its first word, a pointer to the header.
//
// # Sources
//
// runtime/symtab.go, symtabinl.go, traceback.go, asm_*.s, internal/abi/symtab.go
// and cmd/link/internal/ld/{pcln,symtab}.go of Go 1.13 to 1.26.
package golang
