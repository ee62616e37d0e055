// SPDX-License-Identifier: Apache-2.0

// Package hosted finds the frames of code that was made at run time and does not describe itself. It can where that
// runs in a frame whose layout the runtime has fixed once and for all. So does the code that GHC makes of Haskell,
// which lies in files.
//
// # Algorithm
//
// Compilers of such code give a function no frame of its own. The machine's stack pointer stays where an entry, in
// the runtime's library or made at run time, has put it; what the program calls its stack lies elsewhere. So the
// caller of all of that code is who called the entry, at a distance from the stack pointer that the entry's
// instructions tell:
//
//   - LuaJIT: a trace runs in the C frame of the interpreter. It is below two words that the interpreter saves and
//     the trace's own spilled values, whose size is in the description of the trace.
//   - Guile: the library calls a trampoline by a pointer that it keeps; the trampoline's instructions make the frame.
//   - Chez Scheme: the library calls code by a register, which pushes and goes on to Scheme code.
//   - BEAM (Erlang): the entry puts the schedulers' registers on the C stack and says there where that stack is.
//   - PyPy: an entry makes a frame of a fixed size, and notes there where it is.
//   - Haskell (GHC): the scheduler calls an entry, whose instructions tell how large the frame is.
//
// A frame is given only if the stack shows that it is one. Its return address follows a call of the entry, and the
// words that the runtime keeps in it are such words. Else the walk ends, as it would without this package.
//
// # Input is hostile
//
// All that is read is a process's own: tables have maximal sizes, chains a maximal length, and nothing is allocated
// for a size that is merely claimed.
package hosted
