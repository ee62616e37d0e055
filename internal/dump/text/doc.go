// SPDX-License-Identifier: Apache-2.0

// Package text writes a dump and its locks for a reader: stacks, goroutines, tasks, deadlocks, the verdict in words.
//
// # Algorithm
//
// [Write] writes each thread, [WriteMerged] each stack once with the threads that have it: those with equal program
// counters, state and wait reason. Both write goroutines and tasks merged. A runaway recursion is shown at both ends of
// the cycle, with one line for the rest; JSON has all frames. [WriteLocks] writes the verdict first, then what is
// wrong, then each lock with its waiters and owner. Three threads with one stack are
//
//	3 threads: sleeping in futex (passive read)
//	  worker-1…3 (3): 4712 4713 4714
//	  #0  0x00007f25eb9a1d16 __futex_wait in /lib/libc.so.6 [context]
//	  #1  …
//
// Strings of the target pass through package printable.
package text
