// SPDX-License-Identifier: Apache-2.0

// Package stacks has the stacks of a process's threads, goroutines and tasks, as data and as JSON.
//
// # Algorithm
//
// Equal frames share one [Place]: 900,000 calls of one function are one place and 900,000 frames of three words.
// [WriteJSON] writes frame by frame. Of a stack as
//
//	#0 __futex_wait   libc.so.6
//	#1 lll_lock_wait  libc.so.6
//	#2 lookup         cached, cached.c:6
//
// the program's own place ([Thread.OwnPlace]) is "lookup at cached.c:6", the innermost function of the application
// (waits.ApplicationFunction).
package stacks
