// SPDX-License-Identifier: Apache-2.0

// Package hosted finds the frame of generated code, and of GHC's Haskell code, by its fixed layout in the runtime.
//
// # Algorithm
//
// In such code functions have no machine frames: sp stays where an entry put it, and the program's stack is elsewhere.
// The caller is the entry's, at a distance from sp that the entry's instructions show:
//
//   - LuaJIT: a trace runs in the interpreter's C frame, below two saved words and the trace's spill area.
//   - Guile: the library calls a trampoline by a pointer; the trampoline makes the frame.
//   - Chez Scheme: the library calls code by a register, which pushes and jumps to Scheme code.
//   - BEAM (Erlang): the entry puts the scheduler's registers on the C stack; a register points to them.
//   - PyPy: an entry makes a frame of fixed size, which contains its own address.
//   - SBCL: as an exception, functions have frames by rbp.
//   - Haskell (GHC): the scheduler calls an entry; its instructions give the frame's size.
//
// # Invariants
//
// A frame is given only if its return address follows a call of the entry and its words are as the runtime keeps them;
// else the walk ends. Tables and chains are bounded, and claimed sizes cause no allocation.
package hosted
