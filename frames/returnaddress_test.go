// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// The innermost frame, and one interrupted by a signal, may be at any address.
func TestReturnAddressOutsideOfCodeIsNotAFrame(t *testing.T) {
	src := &fakeSource{
		rules: map[Addr]Rule{
			0x1010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI},
			0x2010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2}},
			0x3010: {Flags: FlagExactPC, Method: MethodCFI},
			0x4010: {CFAReg: X86RBP, Method: MethodCFI},
		},
		rows: map[Addr]*Row{
			0x3010: {CFAReg: X86RSP, CFAOff: 16, RA: RegRule{Kind: RuleOffset, Off: -8}},
			0x4010: keepingRow(),
		},
	}
	cases := []struct {
		name  string
		words []uint64
		want  []Addr
	}{
		{"kept stack pointer", []uint64{0, 0x7040, 0x7050, 0xff401010}, []Addr{0x4010}},
		{"return address", []uint64{0, 0x2010, 0, 0xff401010, 0, 0, 0, 0}, []Addr{0x1010, 0x2010}},
		{"interrupted", []uint64{0, 0x3010, 0, 0xff401010, 0, 0, 0, 0}, []Addr{0x1010, 0x3010, 0xff401010}},
		{"address after the code", []uint64{0, 0x2010, 0, 0x9001, 0, 0, 0, 0}, []Addr{0x1010, 0x2010}},
	}
	for _, c := range cases {
		s := space(src, nil)
		for range 3 { // by rule, and by the cached callers of the last walk
			var w Walker
			wantPCs(t, walk(t, &w, s, x86Regs(c.want[0], 0x7000, 0x7010), stack(0x7000, c.words...)), c.want...)
			if w.StopReason() != StopNoRule {
				t.Errorf("%s: stop reason %v, want %v", c.name, w.StopReason(), StopNoRule)
			}
		}
	}
	// The last instruction calls a function that does not return.
	s := space(&fakeSource{rules: map[Addr]Rule{0x1010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI},
		0x9000: {Flags: FlagRoot}}}, nil)
	var w Walker
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), stack(0x7000, 0, 0x9000)), 0x1010, 0x9000)
}

func TestRefusedReturnAddressIsAFrameOnceItsCodeIsKnown(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{0x1010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI}}}
	s := space(src, nil)
	mem := stack(0x7000, 0, 0x20010, 0)
	var w Walker
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010)
	fresh := &Module{Start: 0x20000, End: 0x21000,
		Sources: []RuleSource{&fakeSource{rules: map[Addr]Rule{0x20010: {Flags: FlagRoot}}}}}
	s.SetModules(append([]*Module{fresh}, s.Modules()...))
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x20010)
	if !w.StopReason().Complete() {
		t.Errorf("stop reason %v, want a root", w.StopReason())
	}
}

func keepingRow() *Row {
	row := &Row{CFAReg: X86RBP, CFAOff: -8, CFADeref: true, RA: RegRule{Kind: RuleRegOffset, Reg: X86RBP, Off: 8}}
	row.Regs[X86RBP] = RegRule{Kind: RuleRegOffset, Reg: X86RBP}
	row.Regs[X86R13], row.Regs[X86R14] = RegRule{Kind: RuleUndefined}, RegRule{Kind: RuleUndefined}
	return row
}
