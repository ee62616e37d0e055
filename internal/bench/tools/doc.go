// SPDX-License-Identifier: Apache-2.0

// Package tools runs prywalk and other profilers for prywalk bench. They are switched on and off on one process, so
// that windows with and without are neighbours and contain no start-up.
//
// prywalk and perf take commands, gdb and eu-stack run once per snapshot, samply is restarted for each window. A stack
// in a tool's output is complete if its outermost frame is a function in which threads begin (roots.go).
package tools
