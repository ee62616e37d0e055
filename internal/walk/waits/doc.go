// SPDX-License-Identifier: Apache-2.0

// Package waits determines what a sleeping thread waits for: a lock and its owner, a descriptor, a child.
//
// # Algorithm
//
// [Describe] decides a wait's [Kind] from the thread's state, its system call or the kernel's reason, the innermost
// functions of its stack, and 64 bytes around its futex word. The first row that fits decides:
//
//	state T, t; R, Z, X                                    stopped; none
//	page fault, userfault; frozen (process.WaitLabel)      page-fault; frozen
//	futex, ppoll: a runtime's answer ([Sleeper.Managed])   monitor, object-wait, GIL, park, mutex, join, sleep
//	futex with FUTEX_LOCK_PI                               mutex
//	futex below a function of primitives.go:
//	    of the C and C++ library                           mutex, rwlock, condition, join, semaphore, barrier, once,
//	                                                       static-guard
//	        glibc's condition, woken, retakes its mutex    mutex
//	        a condition below one of HotSpot's             monitor, object-wait, park, sleep (hotspotpark.go)
//	    of Rust, parking_lot, abseil, Go, std::future      mutex, rwlock, condition, once, future, atomic
//	    of these that other primitives use, too            park, libc-lock
//	futex at the memory of a robust mutex, a thread's end  mutex, join
//	other futex                                            futex
//	flock, fcntl                                           file-lock
//	a call below PostgreSQL's ProcSleep                    database-lock
//	nanosleep below SQLite's busy handler                  database-lock
//	wait4, waitid, a clone that waits as vfork             child
//	nanosleep; poll and select without descriptors         sleep
//	read, write, epoll_wait …, poll, select                descriptor; in state D disk
//	pause, rt_sigtimedwait …; semop; msgrcv, msgsnd        signal; semaphore; message-queue
//	sync, syncfs                                           disk
//	any other call, another reason of the kernel           other; in state D disk
//
// The function of the table is the innermost that does more than forward the wait (identify.go). [Wait.ResolveOwner]
// makes the ID in a lock that of a live thread; [Wait.ReadCallMemory], [OpenFiles.AddFileDetails] and
// [Wait.SetVariable] add details. [Idle] decides from the whole stack whether a wait is idle, by the functions of
// libraries.go, idlegoroutines.go and package languages.
//
// A goroutine that waits without a thread has the Go runtime's reason in place of a kind. The recorder names native
// functions only, so it records a condition within a language's sleep as a condition; reports show a sleep (package
// view, waits.go).
//
// The package reads /proc: descriptors and, for a pipe's other end, those of all processes ([OpenFiles]), the tables of
// sockets, of up to megabytes ([RemoteAddresses]), and threads ([LiveThreads]).
//
// # Owners
//
// The object at a futex word follows from the operation and the calling function. Only some have a readable owner:
//
//	object                     word at           owner
//	glibc mutex                +0                at +8; kind at +16 (sysdeps/nptl/bits/struct_mutex.h)
//	glibc robust, PI mutex     +0                the word's low 30 bits (linux/futex.h, FUTEX_TID_MASK)
//	glibc rwlock               +8 or +12         the writer's at +24; readers are only counted
//	glibc join                 the thread's TID  the value that is waited on
//	musl mutex, not normal     +4                the word's low 30 bits; kind at +0
//
// A glibc condition has two futex words, one for each group of waiters; the first one stands for both.
//
// Condition variables, semaphores, and locks of Go, Rust, parking_lot and abseil have none. A runtime reads the owner
// of its own locks, such as monitors and GILs (package managed, Threads.Waiting).
//
// # Invariants
//
// An owner is given only if the word is in the held state, the kind exists, and the ID is that of a live thread of the
// process, or of another that is observed. glibc writes the owner after it has taken a lock, and clears it before the
// release, so the ID is the owner at the read, or zero.
package waits
