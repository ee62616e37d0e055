package heuristics

import (
	"bytes"

	"prywalk/internal/x86"
)

// maxRootX86 bounds the instructions between a new thread's first one and its
// exit system call.
const maxRootX86 = 16

// exitCalls are the numbers of exit and exit_group (arch/x86/entry/syscalls).
const (
	exitX86      = 60
	exitGroupX86 = 231
)

// isThreadRootX86 recognises what clone and clone3 do in the new thread: call
// its function by a register, and pass the result to the exit system call. pc
// is at or before the call, or after it. Neither part has call frame
// information in glibc's clone3, nor in musl's clone.
func isThreadRootX86(w *interpreter, pc uint64) bool {
	if !w.mayCall(pc) {
		return false
	}
	st := &w.st
	called := false
	if c, ok := callBeforeX86(w.src, pc); ok && !c.Direct {
		called = true
	}
	st.reset(w.src.abi, pc, 0, ^uint64(0))
	for range maxRootX86 {
		code := w.code(st.pc)
		i, ok := x86.Decode(code)
		if !ok {
			return false
		}
		if i.Map == x86.Map0F && i.Op == 0x05 {
			ax := st.regs[hwAX]
			return called && ax.kind == number && (ax.off == exitX86 || ax.off == exitGroupX86)
		}
		f := execX86(st, code)
		if f.kind == flowCall && i.Op == 0xe8 || f.kind != flowCall && f.kind != flowNext {
			return false
		}
		called = called || f.kind == flowCall
		movAL(st, &i)
		st.pc += uint64(f.size)
	}
	return false
}

// mayCall reports whether one of the instructions that follow can be a system call. Almost none is, and
// two bytes are found faster than instructions are read.
func (w *interpreter) mayCall(pc uint64) bool {
	b := w.code(pc)
	return len(b) < maxRootX86*15 || bytes.Contains(b[:maxRootX86*15], []byte{0x0f, 0x05})
}

// movAL follows `xor eax, eax; mov al, 60` (musl).
func movAL(st *state, i *x86.Inst) {
	if i.Map != x86.MapOne {
		return
	}
	switch {
	case i.Op == 0xb0 && i.RM == 0:
		st.regs[hwAX] = value{kind: number, off: int32(i.Imm & 0xff)}
	}
}
