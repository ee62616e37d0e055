// SPDX-License-Identifier: Apache-2.0

// Package fixedframe finds the frames of generated code by their fixed layout.
//
// # Algorithm
//
// The code of LuaJIT, BEAM and PyPy has no machine frames for its functions; the program's stack is elsewhere. All of
// that code is one fixed frame. Its caller is the caller of an entry function, at a distance from sp (BEAM: rbx) that
// the entry's instructions show.
//
// # Invariants
//
// A return address must follow a call, where known of the entry; else the walk ends. Tables, chains and allocations
// by claimed sizes are bounded.
package fixedframe
