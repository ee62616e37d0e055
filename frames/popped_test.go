// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

type fakePops struct {
	fakeCalls
	regs []uint8 // the last popped first
}

func (p *fakePops) Popped(_ Addr, n int) (uint8, bool) {
	if n < 1 || n > len(p.regs) {
		return 0, false
	}
	return p.regs[n-1], true
}

func TestPoppedRegistersAreUsedIfTheCopyBeginsAtTheStackPointer(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI, Saved: [NumCompact]uint8{2, 3}}, // rbp, rbx
		0x2010: {CFAReg: X86RBP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2}},
		0x3010: {Flags: FlagRoot},
	}}
	pops := &fakePops{regs: []uint8{X86RBP, X86RBX}}
	mem := stack(0x7000, 0x2010, 0, 0, 0x8000, 0x3010)
	regs := x86Regs(0x1010, 0x7000, 0x7018)
	var w Walker
	wantPCs(t, walk(t, &w, space(src, pops), regs, mem), 0x1010, 0x2010, 0x3010)
	if w.StopReason() != StopRoot {
		t.Errorf("stop reason %v, want %v", w.StopReason(), StopRoot)
	}
	// The code does not show the pops.
	pops.regs = nil
	wantPCs(t, walk(t, &w, space(src, pops), regs, mem), 0x1010, 0x2010)
	if w.StopReason() != StopUnproven {
		t.Errorf("stop reason %v, want %v", w.StopReason(), StopUnproven)
	}
	// Another register was popped from the place.
	pops.regs = []uint8{X86RBX, X86RBP}
	wantPCs(t, walk(t, &w, space(src, pops), regs, mem), 0x1010, 0x2010)
	src.rules[0x2010] = Rule{CFAReg: X86RSP, CFAOff: 0x18, Method: MethodCFI}
	pops.regs = nil
	wantPCs(t, walk(t, &w, space(src, pops), regs, stack(0x7000, 0x2010, 0, 0, 0x3010)), 0x1010, 0x2010, 0x3010)
}

func TestPoppedReturnAddressIsTakenFromItsRegister(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 0, Method: MethodCFI},
		0x2010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
		0x3010: {Flags: FlagRoot},
	}}
	pops := &fakePops{regs: []uint8{X86R12}}
	regs := x86Regs(0x1010, 0x7000, 0)
	regs.Set(X86R12, 0x2010)
	var w Walker
	wantPCs(t, walk(t, &w, space(src, pops), regs, stack(0x7000, 0x3010)), 0x1010, 0x2010, 0x3010)
	pops.regs = nil
	wantPCs(t, walk(t, &w, space(src, pops), regs, stack(0x7000, 0x3010)), 0x1010)
	if w.StopReason() != StopBadMemory {
		t.Errorf("stop reason %v, want %v", w.StopReason(), StopBadMemory)
	}
}
