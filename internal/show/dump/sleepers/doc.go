// SPDX-License-Identifier: Apache-2.0

// Package sleepers explains what the sleeping threads of a process, or of a core, wait for.
//
// # Algorithm
//
// The system call, its arguments and the innermost functions give the kind of a wait; the memory of its lock gives the
// owner (package waits). A runtime is asked about its own locks. Of a thread as
//
//	futex(0x4010c0, FUTEX_WAIT, 2, …)    called by pthread_mutex_lock
//	0x4010c0: 02 00 00 00 00 00 00 00 6a 12 00 00
//
// the third word of the mutex is its owner: the thread waits for the mutex at 0x4010c0, held by 4714 worker.
package sleepers
