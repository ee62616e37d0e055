// SPDX-License-Identifier: Apache-2.0

// Package oracle compares the unwinder with the true caller chain at each instruction of a program.
//
// A program is stepped with PTRACE_SINGLESTEP. The tracer decodes each instruction and keeps a shadow stack, without
// any table of the program. A call pushes its return address and the place (slot) where the processor stored it. When
// the stack pointer moves beyond the slot (return, longjmp, the landing of an exception), the entry is popped. A signal
// handler is pushed with the interrupted instruction. Each stack has a chain of its own.
//
// After each step the walker must give that chain, program counters and stack pointers, in several ways ([Judge]).
//
// Where the true chain is a matter of definition:
//
//   - Call frame information may describe the frame to which longjmp, setcontext or gogo is about to jump. Such an
//     answer is exact if the thread then arrives at that program counter and stack pointer.
//   - Between the load of another stack's pointer and the return to that stack (swapcontext) there is no caller. These
//     steps are counted separately, by function.
//   - When Go's scheduler has left a goroutine, its stack ends in morestack.
//   - Without tables, only the frames up to a change of stacks in Go's runtime must be exact: instructions do not show
//     that change.
//
// Each section of the programs in testdata begins with a breakpoint instruction with its name. Between sections they
// run freely.
//
// A Java virtual machine ([RunJava]) has no marks. Its main thread is seized repeatedly, and stepped for a stretch. The
// callers before a stretch are those of the first walk; returns confirm them. Native code runs freely up to a hardware
// breakpoint at its return. A stretch ends early when the machine replaces a frame, or a signal comes.
package oracle
