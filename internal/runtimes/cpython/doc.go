// SPDX-License-Identifier: Apache-2.0

// Package cpython names the frames of Python code, CPython 3.8 to 3.15, for [prywalk/internal/managed].
//
// # Algorithm
//
// For each thread the interpreter keeps a chain of its own frames, innermost first, that begins in the thread state. A
// plan copies, in the same stop, what lies outside of the native stack: the thread state, the data stack, frames in
// generators, and heads of unknown code objects.
//
// The chain is merged with the native frames by address. From 3.11 on each entry from C keeps a record (_PyCFrame in
// 3.11, later a frame owned by the C stack) in the native frame of the loop, which runs the Python frames up to it.
// Before 3.11 each Python frame has a native frame of the loop, which stores the frame object's address.
//
// # Invariants
//
// A frame that fits nowhere invalidates all Python frames of the walk.
//
// A code object can be freed and its address reused before its name is read. A name is proven by the first of these
// that holds; otherwise the frame is named [freed]:
//
//  1. The identity was copied in the stop and is unchanged.
//  2. It was known before the stop and is unchanged after it.
//  3. The thread has slept since the stop.
package cpython
