// SPDX-License-Identifier: Apache-2.0

// Package goroutines reads the stacks of goroutines, what they wait for and hold.
//
// # Algorithm
//
// Go's runtime lists its goroutines (managed.Scheduler). A goroutine on a thread has the thread's stack. The stack of
// any other is copied twice: two equal copies and an unchanged goroutine prove that it did not run in between. If it
// has called another runtime through C, a goroutine of that runtime has its outer frames.
//
// A sync.Mutex stores no owner. A likely owner has on its stack a function that has locked the mutex, and not unlocked
// it before its current call. Another goroutine may unlock it. Of a channel only the waiters are known. Of a goroutine
// with
//
//	sync.(*Mutex).Lock   awaits sync.Mutex 0xc000012018
//	main.transfer        locks 0xc000012010 at bank.go:21, 0xc000012018 at bank.go:22
//	main.main
//
// the mutex at …18 is awaited, and only the one at …10 is held.
package goroutines
