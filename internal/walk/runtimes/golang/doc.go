// SPDX-License-Identifier: Apache-2.0

// Package golang unwinds and names Go code, stripped or not, by the linker's tables, and reads goroutines in memory.
//
// # The path of one goroutine
//
//	program    runtime.go       detection in the first module with a table
//	             elftable.go    sections of the ELF file ─► header.go, moduledata.go ─► table.go
//	             goffsets.go    offsets in g and m, read from the instructions of systemstack and mcall
//	all        allgs.go         runtime.allgs, by its symbol, or by what runtime.allgadd refers to (references.go)
//	one g      goroutine.go     its fields, found in the g of runtime.main
//	             funcs.go       its first function; alltasks.go gives all of them at once
//	changes    poller.go        which g have run since, by reads of many (greader.go), and their stacks
//	waits for  waiting.go       the reason; sudogs and channels; locks.go has the locks that its frames hold
//	             poller.go      the descriptor
//	unwind     rule.go          CFA of a pc: funcs.go, table.go, kinds.go, then by architecture
//	             rule_*.go      functions of the compiler
//	             paths_x86.go   functions that load the stack pointer; locks_x86.go has locks by it
//	             switch_*.go    between the stacks of goroutine, scheduler and C; after clone
//	             leftstack.go   the goroutine's stack, from code without rules
//	name       lines.go         function, file, line, inlined calls
//	labels     labels.go
//
// # Rules
//
// A lookup bisects the functions of .gopclntab (runtime/symtab.go, pcHeader), then decodes a pc-value table of the
// function up to the pc. The table pcsp gives delta, by which the stack pointer is below its value at entry:
//
//	x86-64                                      arm64
//	CFA = rsp + delta + 8                       CFA = sp + delta
//	CFA − 8        return address               sp + 0   return address, before in x30
//	CFA − 16       caller's rbp, once stored    sp − 8   caller's x29
//	…              locals, arguments            …        locals, arguments
//
// pcsp does not hold in functions that load the stack pointer (flag SPWRITE). Their instructions are followed, so
// systemstack, vDSO calls, cgocallback and asmcgocall lead back to their goroutine. mcall and mstart end a stack;
// morestack continues at g.sched.
//
// Where no rule is proven, a refusal keeps other sources from guessing.
//
// # To add a release
//
// testtargets.LaterGoReleases, and the last line here; make go-releases. Offsets in g and m that goffsets_*.go does not
// find are not guessed. Releases also differ in
//
//	goroutine.go   states; distances of fields from status and first function (a test compares them with DWARF)
//	header.go      magic of .gopclntab
//	kinds.go       functions that leave the stack
//	moduledata.go  word of go:func.*
//	funcs.go       the runtime's own goroutines
//	poller.go      pollDesc
//	waiting.go     sudog, hchan, wait reasons
//
// # Sources
//
// runtime/{symtab,symtabinl,traceback,runtime2,proc}.go, asm_*.s, internal/abi/symtab.go and
// cmd/link/internal/ld/{pcln,symtab}.go of Go 1.18 to 1.27.
package golang
