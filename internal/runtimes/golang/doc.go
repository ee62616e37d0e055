// SPDX-License-Identifier: Apache-2.0

// Package golang reads Go programs, stripped or not: rules and names from the linker's tables, goroutines from memory.
//
// # Algorithm
//
// .gopclntab (runtime/symtab.go, pcHeader) has names, pc-value tables, and functions by address: a lookup bisects
// these, then decodes one pc-value table up to the pc. The table pcsp gives the distance of the stack pointer from its
// value at entry:
//
//   - x86-64: CFA = rsp + delta + 8, return address at CFA−8, caller's rbp at CFA−16 once stored;
//   - arm64: CFA = sp + delta; return address at 0(sp), before in x30, and caller's x29 at −8(sp).
//
// Functions that load the stack pointer (flag SPWRITE) have no true delta: a data flow over their instructions follows
// the stack and frame pointers, so that systemstack, vDSO calls, cgocallback and asmcgocall lead back to their
// goroutine. mcall and mstart end a stack; morestack continues at g.sched.
//
// A [Runtime] reads goroutines from runtime.allgs (allgs.go), repeatedly (poller.go), what they wait for (waiting.go)
// and hold (held.go), and their labels (labels.go). A process can have several.
//
// # Invariants
//
// Nothing is parsed before it is needed. Where no rule is proven, a refusal stops other sources from guessing.
//
// # Sources
//
// runtime/{symtab,symtabinl,traceback,runtime2,proc}.go, asm_*.s, internal/abi/symtab.go and
// cmd/link/internal/ld/{pcln,symtab}.go of Go 1.13 to 1.27.
package golang
