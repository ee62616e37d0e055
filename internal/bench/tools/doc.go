// SPDX-License-Identifier: Apache-2.0

// Package tools runs prywalk and other profilers for prywalk bench, switched on and off on one process, so that windows
// with and without are neighbours and no start-up is in them.
//
// prywalk and perf take commands, gdb and eu-stack run for each snapshot, samply is restarted for each window. Complete
// stacks are counted in each tool's own output: the outermost frame is of a function that threads begin in (roots.go).
package tools
