// SPDX-License-Identifier: Apache-2.0

// Package fixedframe finds the frames of generated code, and of GHC's Haskell code, by their fixed layout.
//
// # Algorithm
//
// The code of LuaJIT, Guile, Chez Scheme, BEAM, PyPy and GHC has no machine frames for its functions; the program's
// stack is elsewhere. All of that code is one fixed frame. Its caller is the caller of an entry function, at a distance
// from sp (BEAM: rbx) that the entry's instructions show. SBCL's functions have frames by rbp.
//
// # Invariants
//
// A return address must follow a call, where known of the entry; else the walk ends. Tables, chains and allocations
// by claimed sizes are bounded.
package fixedframe
