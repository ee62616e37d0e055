// SPDX-License-Identifier: Apache-2.0

// Package oracle compares the unwinder with the true caller chain at each instruction of a program.
//
// # Method
//
// A program is started under PTRACE_TRACEME and stepped with PTRACE_SINGLESTEP. The tracer decodes each instruction
// before it is executed, reads the registers after it, and keeps a shadow stack. A call pushes its return address and
// the place where the processor stored it. When the stack pointer moves beyond that place (return, longjmp, the
// landing of an exception), the entry is popped. Jumps change nothing. A signal handler is pushed with the interrupted
// instruction. Each stack has a chain of its own. No table of the program is used.
//
// After each step the walker must give exactly that chain, program counters and stack pointers, in several ways
// ([Judge]): with all that is known of the process, and by the instructions alone (heuristics), with and without the
// functions' bounds; and again with only sp and pc known, as in a passive read.
//
// # Where the true chain is a matter of definition
//
//   - Code that loads another frame's registers and jumps there (longjmp, setcontext, Go's gogo): call frame
//     information may describe that frame before it is reached. Such an answer is judged later. It is exact only if
//     the thread then arrives at that program counter and stack pointer.
//   - Between the load of another stack's pointer and the return to that stack (swapcontext) there is no caller. These
//     steps are counted separately, by function, unless the answer is confirmed as above.
//   - When Go's scheduler has left a goroutine, the scheduler's stack ends in morestack.
//   - Without tables, only the frames up to a change of stacks in Go's runtime must be exact: instructions do not show
//     that change.
//
// The programs in testdata begin each section that is stepped with a breakpoint instruction, which has the section's
// name. Between sections they run freely.
//
// # Java
//
// A Java virtual machine ([RunJava]) has many threads, and its code has no marks. Its main thread is seized repeatedly
// while it works, and stepped for a stretch. The chain is kept as above; in addition, the interpreter calls by a push
// and a jump through a method's entry, and returns by a jump. The callers before a stretch are those of the first
// walk; returns to them confirm these. Calls of native code run freely up to a hardware breakpoint at their return. A
// stretch ends early when the machine replaces a frame, or a signal comes, as the true chain is then unknown.
package oracle
