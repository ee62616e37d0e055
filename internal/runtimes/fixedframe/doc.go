// SPDX-License-Identifier: Apache-2.0

// Package fixedframe finds the frame of generated code, and of GHC's Haskell code, by its fixed layout in the runtime.
//
// # Algorithm
//
// The code of LuaJIT, Guile, Chez Scheme, BEAM, PyPy and GHC has no machine frames for its functions: sp stays where an
// entry function put it, and the program's stack is elsewhere. All of that code is thus one fixed frame, and its caller
// is the entry's, at a distance from sp that the entry's instructions show. SBCL is an exception: its functions have
// frames by rbp.
//
// # Invariants
//
// A return address must follow a call of the entry, and the frame's words be as the runtime keeps them; else the walk
// ends. Tables and chains are bounded, and claimed sizes cause no allocation.
package fixedframe
