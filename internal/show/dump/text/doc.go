// SPDX-License-Identifier: Apache-2.0

// Package text writes a dump and its locks as text.
//
// # Algorithm
//
// [Write] writes each thread, [WriteMerged] each stack once, with the threads of equal program counters, state and wait
// reason. Both merge goroutines and tasks. Of a runaway recursion both ends are shown, with one line for the rest.
// Three threads with one stack are
//
//	3 threads: sleeping in futex (passive read)
//	  worker-1…3 (3): 4712 4713 4714
//	  #0  0x00007f25eb9a1d16 __futex_wait in /lib/libc.so.6 [context]
//	  #1  …
//
// Strings of the target pass through package printable.
package text
