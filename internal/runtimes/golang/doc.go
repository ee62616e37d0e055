// SPDX-License-Identifier: Apache-2.0

// Package golang unwinds and names Go code, stripped or not, by the linker's tables, and reads goroutines from memory.
//
// # Algorithm
//
// A lookup bisects the functions of .gopclntab (runtime/symtab.go, pcHeader), then decodes one pc-value table of the
// function up to the pc. The table pcsp gives delta, the distance of the stack pointer from its value at entry:
//
//   - x86-64: CFA = rsp + delta + 8; return address at CFA−8; caller's rbp at CFA−16 once stored;
//   - arm64: CFA = sp + delta; return address at 0(sp), before in x30; caller's x29 at −8(sp).
//
// pcsp does not hold in functions that load the stack pointer (flag SPWRITE). Their instructions are followed, so
// that systemstack, vDSO calls, cgocallback and asmcgocall lead back to their goroutine. mcall and mstart end a
// stack; morestack continues at g.sched.
//
// A [Runtime] reads goroutines from runtime.allgs (allgs.go), repeatedly (poller.go), what they wait for
// (waiting.go) and hold (held.go), and their labels (labels.go). A process can have several.
//
// # Invariants
//
// Tables are parsed on demand. Where no rule is proven, a refusal keeps other sources from guessing.
//
// # Sources
//
// runtime/{symtab,symtabinl,traceback,runtime2,proc}.go, asm_*.s, internal/abi/symtab.go and
// cmd/link/internal/ld/{pcln,symtab}.go of Go 1.13 to 1.27.
package golang
