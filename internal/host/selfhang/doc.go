// SPDX-License-Identifier: Apache-2.0

// Package selfhang finds threads of this process that hang in a read: a page of memory or of a file may wait for ever
// for its provider (userfaultfd, FUSE, a lost network file system). Only SIGKILL ends such a read, so its function is
// left behind.
//
// # Algorithm
//
// A thread hangs if it has been in one uninterruptible system call, for [Watched] also in one interruptible read, for 5
// s without a run ([Stalls]). [Watched] and [OnWatchedThread] check that every 250 ms while a function runs. Where no
// goroutine can check, a timer's signal ends the process ([Deadman]).
package selfhang
