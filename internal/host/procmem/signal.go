// SPDX-License-Identifier: Apache-2.0

package procmem

import "syscall"

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
