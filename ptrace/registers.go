// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
)

type registers struct {
	raw rawRegs
	// n is the number of bytes: 0 if the thread is gone, < rawRegsLen if 32-bit.
	n       int
	tls     uint64 // arm64: thread pointer
	pacMask uint64 // arm64: of code pointers; 0: none yet
}

//go:nosplit
func (r *registers) read(tid int) (e syscall.Errno) {
	r.n, e = getRegSet(tid, regSetGeneral, &r.raw)
	if e != 0 {
		r.n = 0
		return e
	}
	r.more(tid)
	return 0
}

// whole reports a complete 64-bit set.
//
//go:nosplit
func (r *registers) whole() bool { return r.n == rawRegsLen }

func (r *registers) decode() frames.Regs {
	regs := decodeNative(&r.raw)
	if r.tls != 0 {
		regs.TLS = r.tls
	}
	regs.PACMask = r.pacMask
	return regs
}
