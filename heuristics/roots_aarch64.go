// SPDX-License-Identifier: Apache-2.0

package heuristics

import "encoding/binary"

// include/uapi/asm-generic/unistd.h
const (
	exitA64      = 93
	exitGroupA64 = 94
)

// maxRootA64 bounds the instructions from a new thread's first one to its exit system call.
const maxRootA64 = 16

// isThreadRootA64 recognises a new thread's code in clone: blr, then exit.
func isThreadRootA64(w *interpreter, pc uint64) bool {
	st := &w.st
	c, called := callBeforeA64(w.src, pc)
	called = called && !c.Direct
	st.reset(w.src.abi, pc, 0, ^uint64(0))
	for range maxRootA64 {
		code := w.code(st.pc)
		f := w.exec(code)
		if f.kind == flowEnd {
			return false
		}
		if a64(binary.LittleEndian.Uint32(code)).is(0xffe0001f, 0xd4000001) {
			n := st.regs[8]
			return called && n.kind == constant && (n.off == exitA64 || n.off == exitGroupA64)
		}
		if f.kind == flowCall {
			if f.target != 0 {
				return false
			}
			called = true
		} else if f.kind != flowNext {
			return false
		}
		st.pc += uint64(f.size)
	}
	return false
}
