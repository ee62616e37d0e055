// SPDX-License-Identifier: Apache-2.0

// Package waits determines what a sleeping thread waits for: which lock and its holder, which descriptor, which
// child.
//
// # Algorithm
//
// Inputs are the thread's system call, the innermost functions of its stack, and a copy of 64 bytes around its
// futex word. A runtime's answer about its own locks has priority ([Sleeper.Managed], [ManagedWait]). The package reads
// no memory of the target. It reads small files below /proc: descriptors ([Files]), sockets ([Peers]), and which
// threads exist ([LiveThreads]).
//
// # Owners
//
// The object at a futex word follows from the operation and the calling function, such as pthread_mutex_lock. Only
// some objects have a readable owner:
//
//	object                     word at           holder
//	glibc mutex                +0                at +8; kind at +16 (sysdeps/nptl/bits/struct_mutex.h)
//	glibc robust, PI mutex     +0                the word's low 30 bits (linux/futex.h, FUTEX_TID_MASK)
//	glibc rwlock               +8 or +12         the writer's at +24; readers are only counted
//	glibc join                 the thread's TID  the value that is waited on
//	musl mutex, not normal     +4                the word's low 30 bits; kind at +0
//
// Condition variables, semaphores, and locks of Go, Rust, parking_lot and abseil have none. The owner of a run-time
// system's lock (a monitor of Java, a GIL, a Mutex of Ruby) is read by that runtime (package managed, Threads.Waiting),
// from its own objects.
//
// # Invariants
//
// An owner is given only if the word is in the held state, the kind exists, and the ID is that of a live thread of
// the process. glibc writes the owner after it has taken a lock, and clears it before the release, so the ID is
// the owner at the read, or zero.
package waits
