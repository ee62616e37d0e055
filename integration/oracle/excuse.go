package oracle

import (
	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/target"
)

// excused reports whether the call frame information itself is proven wrong at the frame whose caller was
// not found: it is that of a whole function without a single instruction, CFA = rsp+8 from its first to its
// last byte, while the stack pointer was observed to be somewhere else. Hand-written assembly has such
// entries: in glibc 2.36 two multiplications of long numbers that push rbx and rbp, and __start_context, which
// nobody calls; readelf shows nothing but DW_CFA_nop there, too. They are left out of the shares and counted by
// function: a function that is new in that list has to be looked at, since what is asked here is this project's
// own reader.
//
// On arm64 such an entry says that the return address is in the link register throughout. That is proven
// wrong where the link register holds another one, and in a caller, whose link register was written by the
// call: glibc's swapcontext keeps the address in x22.
func (o *run) excused(r *outcome) bool {
	i := max(r.at-1, 0)
	if r.verdict == exact || i >= len(o.chain) {
		return false
	}
	at := o.chain[i]
	pc := at.pc
	if i > 0 {
		pc -= o.regs.Arch.CallLen()
	}
	if i+1 < len(o.chain) && o.entryFits(i) || !o.saysNothing(pc) {
		return false
	}
	m, f, _ := o.place(pc)
	o.tally.init()
	o.tally.silent[m+" "+f]++
	return true
}

// entryFits reports whether what an entry without an instruction says is true of frame i.
func (o *run) entryFits(i int) bool {
	at, caller := o.chain[i], o.chain[i+1]
	if o.regs.Arch == frames.X86_64 {
		return caller.sp == at.sp+8
	}
	lr, _ := o.regs.Get(frames.ARM64LR)
	return i == 0 && lr&^o.regs.PACMask == caller.pc && caller.sp == at.sp
}

// saysNothing reports whether the function at pc has call frame information without an instruction.
func (o *run) saysNothing(pc uint64) bool {
	if v, ok := o.silent[pc]; ok {
		return v
	}
	v := o.isSilent(pc)
	o.silent[pc] = v
	return v
}

func (o *run) isSilent(pc uint64) bool {
	m := o.proc.Space().Find(pc)
	if m == nil {
		return false
	}
	at, ok := m.Data.(*target.Mapping)
	if !ok || at.Image == nil || at.Image.GoTable() != nil {
		return false
	}
	t := o.tables[at.Image]
	if t == nil {
		t = newBounds(at.Image.ELF).fdes
		o.tables[at.Image] = t
	}
	return t != nil && rows(t, pc-m.Bias) == 1
}

// rows counts the rows of the function at an address.
func rows(t *dwarfunwind.Table, addr uint64) int {
	n := 0
	for e := range t.FDEs() {
		if addr < e.Start || addr >= e.End {
			continue
		}
		for range t.Rows(e) {
			n++
		}
		return n
	}
	return 0
}
