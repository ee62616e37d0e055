// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"bytes"
	"reflect"

	"prywalk/dwarfunwind"
	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
)

// excused reports whether the call frame information is proven wrong at the frame whose caller was not found: it has no
// instruction for a whole function, so CFA = rsp+8 throughout, while the observed stack pointer was another.
// Hand-written assembly has such entries (glibc 2.36: two multiplications of long numbers, and __start_context, which
// has no caller). A new function in that list must be examined.
//
// On arm64 such an entry puts the return address into the link register throughout: wrong where that has another value,
// and in a caller, whose call has written it (glibc's swapcontext keeps it in x22).
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
	loading := i == 0 && r.verdict == short && o.files.loads(pc)
	if !loading && (i+1 < len(o.chain) && o.entryFits(i) || !o.files.hasEmptyCFI(pc)) {
		return false
	}
	m, f, _ := o.files.locate(pc)
	o.tally.init()
	o.tally.emptyCFI[m+" "+f]++
	return true
}

// loads reports whether arm64's call frame information at pc describes the frame whose registers are being loaded: its
// CFA is relative to an argument. glibc's longjmp and setcontext have it before the return address is there.
func (fs *files) loads(pc uint64) bool {
	if fs.proc.Arch != frames.ARM64 {
		return false
	}
	t, m := fs.table(pc)
	if t == nil {
		return false
	}
	rule, _, ok := t.Rule(frames.Query{PC: pc - m.Bias})
	return ok && rule.CFAReg < 19
}

func (fs *files) table(pc uint64) (*dwarfunwind.Table, *frames.Module) {
	m := fs.proc.Space().ModuleAt(pc)
	if m == nil {
		return nil, nil
	}
	at := loadedcode.MappingOf(m)
	if at == nil || at.Image == nil || at.Image.Table() != nil {
		return nil, nil
	}
	t := fs.tables[at.Image]
	if t == nil {
		t = newBounds(at.Image.ELF).fdes
		fs.tables[at.Image] = t
	}
	return t, m
}

func (o *run) entryFits(i int) bool {
	at, caller := o.chain[i], o.chain[i+1]
	if o.regs.Arch == frames.X86_64 {
		return caller.sp == at.sp+8
	}
	lr, _ := o.regs.Get(frames.ARM64LR)
	return i == 0 && lr&^o.regs.PACMask == caller.pc && caller.sp == at.sp
}

func (fs *files) hasEmptyCFI(pc uint64) bool {
	if v, ok := fs.emptyCFI[pc]; ok {
		return v
	}
	v := fs.isEmptyCFI(pc)
	fs.emptyCFI[pc] = v
	return v
}

func (fs *files) isEmptyCFI(pc uint64) bool {
	t, m := fs.table(pc)
	return t != nil && hasOneRule(t, pc-m.Bias)
}

// hasOneRule reports whether call frame information has the same rule at all addresses of the function at addr.
func hasOneRule(t *dwarfunwind.Table, addr uint64) bool {
	start, end, ok := t.FuncRange(addr)
	first, firstRow, _ := t.Rule(frames.Query{PC: start})
	for pc := start; ok && pc < end; pc++ {
		rule, row, _ := t.Rule(frames.Query{PC: pc})
		ok = rule == first && reflect.DeepEqual(row, firstRow)
	}
	return ok
}

// overwritten reports whether the program has overwritten a return address in its slot, or the pushed frame pointer, up
// to the frame that was not found. libgcc's uw_install_context writes over its callers' saved registers, and never
// returns.
func (o *run) overwritten(r *outcome) bool {
	if o.regs.Arch != frames.X86_64 {
		return false
	}
	mem := liveMemory(o.pid)
	i := 1
	for s := o.cur; s != nil; s = s.below {
		for n := len(s.calls) - 1; n >= 0 && i <= r.at; n, i = n-1, i+1 {
			a := &s.calls[n]
			v, ok := mem.Word(a.slot)
			changed := a.slot == a.sp-8 && ok && v != a.pc // not for a signal
			if !changed && (i == r.at || a.fp == 0 || !o.pushed(o.chain[i-1].pc, a)) {
				continue
			}
			m, f, _ := o.files.locate(o.chain[i-1].pc)
			o.tally.init()
			o.tally.overwritten[m+" "+f]++
			return true
		}
	}
	return false
}

// pushed: the function at pc begins with a push of the frame pointer, and the word below the return address is not the
// caller's.
func (o *run) pushed(pc uint64, a *activation) bool {
	m := o.proc.Space().ModuleAt(pc)
	if m == nil || m.Calls == nil {
		return false
	}
	start, ok := m.Calls.FuncStart(pc - m.Bias)
	if start += m.Bias; !ok || pc-start < 16 {
		return false
	}
	var buf [maxInsn]byte
	code := bytes.TrimPrefix(o.code.instruction(start, &buf), endbr64)
	v, read := liveMemory(o.pid).Word(a.slot - 8)
	return len(code) > 0 && code[0] == pushRBP && read && v != a.fp
}

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

const pushRBP = 0x55
