// SPDX-License-Identifier: Apache-2.0

// Package tools runs the profilers that prywalk bench compares: prywalk itself, and what people use in its
// place. Each can be switched on and off on a process, so that windows with and without it are neighbours in
// time, and none has its start-up in it.
//
// Three ways lead there. prywalk and perf obey orders. gdb and eu-stack are run anew for each look. samply obeys
// nothing, and is started anew for each window. Tools for single languages are in benchmarks/overhead/peers.
//
// Which stacks are complete is counted in what each tool itself has written: a stack is, if its outermost frame
// is of a function that threads begin in (roots.go).
package tools
