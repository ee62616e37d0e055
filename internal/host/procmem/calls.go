// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"sync/atomic"
	"syscall"
)

var calls atomic.Int64

// CountCall adds one to [Calls].
//
//go:nosplit
func CountCall() { calls.Add(1) }

// Calls returns the number of system calls of this package and package ptrace that call [CountCall]: the raw ones,
// without some in repairs of interrupted calls. Except for [Waits], it does not depend on the machine's load.
//
//go:nosplit
func Calls() int64 { return calls.Load() }

var waits atomic.Int64

// CountWait adds one to [Waits].
//
//go:nosplit
func CountWait() { waits.Add(1) }

// Waits returns the number of [Calls] that only waited.
func Waits() int64 { return waits.Load() }

var copied atomic.Int64

// CountCopied adds n bytes to [Copied].
//
//go:nosplit
func CountCopied(n int) { copied.Add(int64(n)) }

// Copied returns the number of bytes read from other processes.
func Copied() int64 { return copied.Load() }

// SignalSet is the kernel's sigset_t: signal n is bit n−1.
type SignalSet uint64

// SetOf returns a set of signals.
func SetOf(sigs ...syscall.Signal) (set SignalSet) {
	for _, s := range sigs {
		set |= 1 << (s - 1)
	}
	return set
}

// SigAction is struct sigaction of rt_sigaction(2).
type SigAction struct {
	Handler, Flags, Restorer uintptr
	Mask                     SignalSet
}

// SigIgn is a handler, SIG_IGN (include/uapi/asm-generic/signal-defs.h).
const SigIgn = 1

// Codes of SIGCHLD (include/uapi/asm-generic/siginfo.h).
const (
	CldExited  = 1
	CldDumped  = 3
	CldTrapped = 4 // a stop
)

// SyscallInfo is /proc/PID/syscall (fs/proc/base.c, proc_pid_syscall).
type SyscallInfo struct {
	Nr      int64     // −1 means none
	Args    [6]uint64 // zero outside a call
	SP, PC  uint64    // in user space
	Running bool      // on a CPU or queued; all else is then unknown
}

// parseSyscall parses "running"; "-1 SP PC"; or a number, six arguments, SP and PC.
func parseSyscall(b []byte) (SyscallInfo, error) {
	c := Cursor{Text: b}
	c.skip()
	if len(c.Text) > 0 && c.Text[0] == 'r' {
		if string(c.Word()) == "running" {
			return SyscallInfo{Running: true, Nr: -1}, nil
		}
		return SyscallInfo{}, errFormat
	}
	s := SyscallInfo{Nr: c.Int()}
	if s.Nr != -1 {
		for i := range s.Args {
			s.Args[i] = c.Hex()
		}
	}
	s.SP, s.PC = c.Hex(), c.Hex()
	if c.Bad {
		return SyscallInfo{}, errFormat
	}
	return s, nil
}
