// SPDX-License-Identifier: Apache-2.0

// Package cpython names the frames of Python code, CPython 3.8 to 3.15, for [prywalk/internal/managed].
//
// # Algorithm
//
// For each thread the interpreter keeps a chain of frames, innermost first, from the thread state on. A stop copies
// what of it lies outside of the native stack: thread state, data stack, generators' frames, heads of unknown code
// objects.
//
// Frames are merged by address. From 3.11 on each entry from C keeps a record (_PyCFrame in 3.11, later a frame owned
// by the C stack) in the native frame of the loop, which runs the Python frames up to it. Before, each Python frame has
// a native frame of the loop, which stores its address.
//
// # Invariants
//
// A frame that fits nowhere invalidates all Python frames of the walk; in 3.11 and 3.12 so does a stop in some
// instructions of a call from C into Python.
//
// A code object's address can be reused before its name is read. Names are proven by [managed.Prove]; a frame without
// proof is [freed].
package cpython
