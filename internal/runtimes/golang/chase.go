// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// Chase tells how to get from a stopped thread of a Go program to the other stacks that its walk may need: g, then
// g.m, then m.curg, then curg.sched. What to copy, while the thread is stopped, besides its own stack. These are
// the first words of g, m and curg (up to the highest offset here), and the stack of curg from sched.sp up to
// stack.hi.
type Chase struct {
	// TLS is the distance from the thread pointer to the word that holds g
	// (amd64: usually −8). Valid if HasTLS.
	TLS    int64
	HasTLS bool
	// TLSSlot, if not 0, is the address (of the file) of a word that holds the
	// value of TLS at run time.
	TLSSlot uint64
	// GReg is the DWARF number of the register that holds g in Go code: r14
	// on amd64 (not in assembly), x28 on arm64.
	GReg uint8
	// Offsets within g (runtime2.go): stack.lo and stack.hi, m, and
	// the fields of sched. SchedLR is 0 on amd64.
	GStackLo, GStackHi, GM             int64
	SchedSP, SchedPC, SchedBP, SchedLR int64
	// Offsets within m: g0, gsignal, curg.
	MG0, MGsignal, MCurg int64
}

// Size gives how many bytes of g and m the walk may read.
func (c *Chase) Size() (g, m int) {
	return int(max(c.SchedSP, c.SchedPC, c.SchedBP, c.SchedLR, c.GM) + 8), int(max(c.MCurg, c.MGsignal, c.MG0) + 8)
}

// Chase gives the layout that this program's own code shows: the instructions
// of runtime.systemstack and of those that save g.sched are decoded. False where
// they do not look as expected.
func (t *Table) Chase() (Chase, bool) {
	if !t.chaseDone {
		t.chaseDone = true
		if t.img.Arch == frames.AArch64 {
			t.chase, t.chaseOK = t.chaseARM64()
		} else {
			t.chase, t.chaseOK = t.chaseX86()
		}
		t.chaseOK = t.chaseOK && t.chase.plausible()
	}
	return t.chase, t.chaseOK
}

// plausible checks what was decoded against what all releases share: stack is the
// first field of g, g0 the first of m, and m and sched follow soon.
func (c *Chase) plausible() bool {
	return c.MG0 == 0 && c.GM >= 0x28 && c.GM <= 0x40 && c.SchedSP > c.GM && c.SchedSP <= 0x60 &&
		c.SchedPC == c.SchedSP+8 && c.SchedBP > c.SchedPC && c.SchedBP <= c.SchedSP+0x40 &&
		c.MCurg > 0x40 && c.MCurg < 0x400 && c.MGsignal > 0x20 && c.MGsignal < c.MCurg
}

// asm gives the code of the assembly function of a name.
func (t *Table) asm(name string) (uint64, []byte) {
	for _, pc := range t.FuncByName(name) {
		f, ok := t.find(pc)
		if !ok || f.end-f.entry > maxFlowBytes {
			continue
		}
		if k, spWrite := t.kind(&f); k == kindPlain && !spWrite {
			continue
		}
		code := make([]byte, f.end-f.entry)
		if t.img.read(pc, code) {
			return pc, code
		}
	}
	return 0, nil
}

// curg follows registers and memory to the goroutine that the thread runs, if
// the thread is on its scheduler's stack; 0 if it runs none.
func (c *Chase) curg(regs *frames.Regs, mem frames.Memory) (uint64, bool) {
	for _, g := range c.candidates(regs, mem) {
		if g == 0 {
			continue
		}
		m, ok := mem.Word(g + uint64(c.GM))
		if !ok {
			continue
		}
		g0, ok := mem.Word(m + uint64(c.MG0))
		curg, ok2 := mem.Word(m + uint64(c.MCurg))
		// g is the scheduler's; or the goroutine's own when gogo has set it and
		// is about to change stacks; or the signal handlers' while one runs.
		if ok && ok2 && (g == g0 || g == curg || c.handlers(m, g, mem)) {
			return curg, true
		}
	}
	return 0, false
}

// handlers reports whether g is the one that the signal handlers of m run on.
func (c *Chase) handlers(m, g uint64, mem frames.Memory) bool {
	gsignal, ok := mem.Word(m + uint64(c.MGsignal))
	return ok && g == gsignal
}

// candidates gives the places where g is: thread-local storage, and the register
// that Go code keeps it in.
func (c *Chase) candidates(regs *frames.Regs, mem frames.Memory) (out [2]uint64) {
	if c.HasTLS && regs.TLS != 0 {
		out[0], _ = mem.Word(regs.TLS + uint64(c.TLS))
	}
	out[1], _ = regs.Get(c.GReg)
	return out
}
