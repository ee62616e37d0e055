// SPDX-License-Identifier: Apache-2.0

// Package oracle checks the unwinder against a caller chain that is known to be true, at every single
// instruction.
//
// # Method
//
// A program is started under PTRACE_TRACEME and stepped with PTRACE_SINGLESTEP. The tracer looks at each
// instruction before it is executed, and at the registers after it. It keeps a shadow stack of what was seen. A
// call instruction that was executed pushes the address after it, with the place where the processor stored it.
// Whatever moves the stack pointer beyond that place (a return, longjmp, the landing of an exception) pops it.
// Jumps leave the chain as it is, tail calls among them. A signal handler is pushed with the interrupted
// instruction, a change to another stack keeps the chain of each stack for itself. No table of the program is used
// for any of this.
//
// After each step the walker has to give exactly that chain, program counters and stack pointers, in several ways
// at once. It has to do so with everything that is known of the process, and with nothing but the analysis of the
// instructions (heuristics), with and without the functions' bounds. Each also with only the stack pointer and the
// program counter known, as when a sleeping thread is peeked at.
//
// # What the truth is where it is a matter of definition
//
//   - Code that loads another frame's registers and jumps there (longjmp, setcontext, Go's gogo): call frame
//     information may describe that frame before it is reached. Such an answer is set aside and counts as
//     exact only if the thread then arrives at just that program counter and stack pointer.
//   - Between loading another stack's pointer and the return that goes there (swapcontext) nobody is the
//     caller. Those steps are counted apart, by function, unless the answer proves itself as above.
//   - When Go's scheduler has let go of a goroutine, the scheduler's stack ends in morestack.
//   - Without tables, the frames up to a change of stacks in Go's runtime have to be exact, since that change
//     is not to be seen in the instructions.
//
// The programs in testdata mark what is to be stepped with a breakpoint instruction of their own, which
// carries a section's name. Between sections they run freely.
//
// # Java
//
// A Java virtual machine ([RunJava]) has many threads, and its code has no marks. Its main thread is seized while
// it works, stepped for a stretch, and let go for a moment, again and again. The chain is kept as above, by calls
// and returns. Besides, the reference knows that the interpreter calls by a push and a jump through a method's
// entry, and returns by a jump. The callers of before a stretch are those that the first walk gives; what the
// stretch returns to shows whether they are right. Calls of native code run freely up to a breakpoint of the
// processor at their return. A stretch ends early when the machine replaces a frame, or a signal comes: the true
// chain is not known then.
package oracle
