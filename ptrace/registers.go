// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/frames"
)

type registers struct {
	raw rawRegs
	// bytes in raw: 0: the thread is gone; less than rawRegsLen: a 32-bit one
	size    int
	tls     uint64 // arm64: thread pointer
	pacMask uint64 // arm64: pointer authentication bits; 0: not read
}

//go:nosplit
func (r *registers) read(tid int) (e syscall.Errno) {
	r.size, e = getRegSet(tid, regSetGeneral, &r.raw)
	if e != 0 {
		r.size = 0
		return e
	}
	r.readArchRegs(tid)
	return 0
}

// complete reports whether raw is the set of a 64-bit thread.
//
//go:nosplit
func (r *registers) complete() bool { return r.size == rawRegsLen }

func (r *registers) decode() frames.Regs {
	regs := decodeNative(&r.raw)
	if r.tls != 0 {
		regs.TLS = r.tls
	}
	regs.PACMask = r.pacMask
	return regs
}
