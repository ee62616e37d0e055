// SPDX-License-Identifier: Apache-2.0

// Package waits tells what a sleeping thread waits for, as structure: which lock and who holds it, which
// descriptor, which child. It decides by what the kernel shows of the thread's system call, and by the innermost
// functions of its stack. It also needs a copy of 64 bytes around the word that it sleeps at. It copies nothing
// itself.
//
// # Owners
//
// A thread that sleeps in futex(2) shows the address of a word. Which object the word belongs to follows from the
// operation and from the function that called it, such as pthread_mutex_lock. Only some objects say who holds them:
//
//	object                     word at           holder
//	glibc mutex                +0                at +8; kind at +16 (sysdeps/nptl/bits/struct_mutex.h)
//	glibc robust, PI mutex     +0                the word's low 30 bits (linux/futex.h, FUTEX_TID_MASK)
//	glibc rwlock               +8 or +12         the writer's at +24; readers are only counted
//	glibc join                 the thread's TID  the value that is waited on
//	musl mutex, not normal     +4                the word's low 30 bits; kind at +0
//
// All else has no holder that could be read, and gets none: condition variables by nature, semaphores, what Go,
// Rust, parking_lot and abseil make. A holder is named only where the word says that it is held. Also, the kind is
// one that exists, and the number is that of a live thread of the process.
//
// # Moments
//
// glibc writes the holder after it has taken a lock, and clears it before it lets go. So the number is true at the
// moment at which it was read, or it is zero.
package waits
