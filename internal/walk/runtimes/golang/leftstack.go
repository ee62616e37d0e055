// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"bytes"
	"encoding/binary"

	"prywalk/frames"
)

// # Code without rules, run by a goroutine
//
// C code runs between entersyscall and exitsyscall: the goroutine's place is in g.syscallsp and g.syscallpc, behind
// g.sched (runtime/runtime2.go). Code compiled at run time without cgo (wazero's WebAssembly) is entered by a function
// in assembly that jumps or calls by a register, and often loads another stack pointer; the runtime saves nothing. The
// place is then searched on the goroutine's stack: the innermost return address of a call of such a function. It is a
// guess, as one of an earlier, deeper call may still be there.

var _ frames.LeftStack = (*Runtime)(nil)

// as many as package observe copies of a stack whose stack pointer is unknown
const maxLeftBytes = 32 << 10

// FindLeft implements [frames.LeftStack].
func (r *Runtime) FindLeft(regs *frames.Regs, mem frames.Memory, stop frames.StopReason) (frames.LeftFrame, bool) {
	if stop == frames.StopRoot {
		return frames.LeftFrame{}, false
	}
	c := &r.allgs.offsets
	g, ok := c.curg(regs, mem)
	if !ok || g == 0 {
		return frames.LeftFrame{}, false
	}
	word := func(off int64) uint64 { w, _ := mem.Word(g + uint64(off)); return w }
	lo, hi := word(c.GStackLo), word(c.GStackHi)
	if sp := regs.SP(); sp >= lo && sp < hi {
		lo = sp + 1
	}
	if hi <= lo || lo == 0 {
		return frames.LeftFrame{}, false
	}
	sp, pc := word(c.SchedBP+8), word(c.SchedBP+16)
	if _, ok := r.program.table.find(pc - r.program.bias); ok && sp >= lo && sp < hi {
		return frames.LeftFrame{PC: pc, SP: sp, Method: frames.MethodHeuristic}, true
	}
	lo = max(lo, hi-min(hi, maxLeftBytes))
	for at := (lo + 7) &^ 7; at < hi; at += 8 {
		v, ok := mem.Word(at)
		if ok && v >= r.program.module.Start && v < r.program.module.End && r.program.table.leaves(v-r.program.bias) {
			return frames.LeftFrame{PC: v, SP: at + 8, Method: frames.MethodScan}, true
		}
	}
	return frames.LeftFrame{}, false
}

// leaves reports whether a return address follows a call of a function in assembly, not the runtime's, that jumps or
// calls by a register.
func (t *Table) leaves(ret uint64) bool {
	target, ok := t.callBefore(ret)
	if !ok {
		return false
	}
	leaves, known := t.leavers[target]
	if !known {
		leaves = t.isLeaver(target)
		t.leavers[target] = leaves
	}
	return leaves
}

func (t *Table) isLeaver(entry uint64) bool {
	f, ok := t.find(entry)
	if !ok || f.entry != entry || f.flag&flagAsm == 0 {
		return false
	}
	// systemstack, reflectcall and others return to Go
	if name := t.name(&f); bytes.HasPrefix(name, []byte("runtime.")) || bytes.HasPrefix(name, []byte("reflect.")) {
		return false
	}
	code := t.codeOf(&f)
	if t.img.Arch == frames.ARM64 {
		for ; len(code) >= 4; code = code[4:] {
			if in := binary.LittleEndian.Uint32(code) &^ (31 << 5); in == 0xd61f0000 || in == 0xd63f0000 { // br, blr
				return true
			}
		}
		return false
	}
	found := false
	walkX86(f.entry, code, func(in *insn, _ uint64) bool {
		found = in.Map == 0 && in.Op == 0xff && (in.Reg == 2 || in.Reg == 4) // call, jmp
		return !found
	})
	return found
}
