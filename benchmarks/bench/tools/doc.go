// SPDX-License-Identifier: Apache-2.0

// Package tools runs prywalk and other profilers for package bench. They are switched on and off on one process:
// prywalk and perf by commands, gdb and eu-stack run once per snapshot, samply is restarted for each window. A stack is
// complete if its outermost frame is a function in which threads begin (roots.go).
package tools
