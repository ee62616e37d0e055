// SPDX-License-Identifier: Apache-2.0

// Package process is what /proc tells of a process and its threads: which there are, whether they can be looked at,
// what they wait for.
//
// [Open] finds out whether a number names a process with user-space stacks. The [Process] then lists its threads, and
// knows by which thread's number its memory is read. Its code is package code's matter.
//
// What stands in the way is an [*Error] with the cause and the next step. [Check] and [ReadStatus] give it at the
// start. [Explain] finds the same for a refusal that another part meets. It goes through the [Gates], the checks that
// the kernel makes (ptrace(2), "Ptrace access mode checking"; security/commoncap.c; Yama).
//
// [WaitLabel] says in a word what a thread that is off the processor waits for; [SyscallName] has the names of system
// calls, in tables that gensyscalls.go writes.
package process
