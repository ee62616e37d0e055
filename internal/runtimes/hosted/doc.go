// SPDX-License-Identifier: Apache-2.0

// Package hosted finds the frame of generated code, and of GHC's Haskell code, by its fixed layout in the runtime.
//
// # Algorithm
//
// Such code gives functions no machine frames: sp stays where an entry put it, and the program's stack is elsewhere.
// The caller is the entry's, at a distance from sp given by the entry's instructions:
//
//   - LuaJIT: a trace runs in the interpreter's C frame, below two saved words and the trace's spill area.
//   - Guile: the library calls a trampoline by a pointer; its instructions make the frame.
//   - Chez Scheme: the library calls code by a register, which pushes and jumps to Scheme code.
//   - BEAM (Erlang): the entry puts the schedulers' registers on the C stack, with its address.
//   - PyPy: an entry makes a frame of fixed size, which contains its own address.
//   - SBCL: as an exception, functions have frames by rbp.
//   - Haskell (GHC): the scheduler calls an entry; its instructions give the frame's size.
//
// # Invariants
//
// A frame is given only if its return address follows a call of the entry and its words are as the runtime keeps them;
// else the walk ends.
//
// All input is hostile: tables and chains are bounded, and claimed sizes cause no allocation.
package hosted
