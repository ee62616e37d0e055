// SPDX-License-Identifier: Apache-2.0

// Package goroutines reads the goroutines of a process or a core: their stacks, what they wait for and what they hold.
//
// # Algorithm
//
// Go's runtime lists its goroutines (managed.Scheduler). One on a thread has the thread's stack. The stack of
// any other is copied twice: two equal copies and an unchanged goroutine prove that it did not run in between. One that
// has called another runtime through C has the outer frames of the goroutine there.
//
// A sync.Mutex stores no owner. Likely is a goroutine with a function on its stack that has locked it, and not unlocked
// it before its current call; but another may unlock it, so a cycle is only a possible deadlock. Of a channel only the
// waiters are known. Of a goroutine with
//
//	sync.(*Mutex).Lock   awaits sync.Mutex 0xc000012018
//	main.transfer        locks 0xc000012010 at bank.go:21, 0xc000012018 at bank.go:22
//	main.main
//
// the mutex at …18 is awaited, and only the one at …10 is held.
package goroutines
