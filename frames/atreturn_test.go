// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

type byLookupPC struct{ *fakeSource }

func (s byLookupPC) Rule(q Query) (Rule, *Row, bool) {
	return s.fakeSource.Rule(Query{PC: q.LookupPC(X86_64)})
}

// lldb's trap handlers begin without the byte before that libgcc's search by pc − 1 needs.
func TestAReturnAddressAtTheStartOfASignalFrameIsInIt(t *testing.T) {
	src := byLookupPC{&fakeSource{
		rules: map[Addr]Rule{
			0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
			0x1fff: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI}, // the function before
			0x2000: {Flags: FlagExactPC, Method: MethodCFI},
			0x3000: {Flags: FlagRoot, Method: MethodCFI},
			0x300f: {Flags: FlagRoot, Method: MethodCFI},
		},
		rows: map[Addr]*Row{0x2000: {CFAReg: X86RSP, CFAOff: 16, RA: RegRule{Kind: RuleOffset, Off: -8}}},
	}}
	calls := &fakeCalls{start: 0x2000}
	mem := stack(0x7000, 0x2000, 0x3010, 0x3000, 0)
	var w Walker
	wantPCs(t, walk(t, &w, space(src, calls), x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2000, 0x3000)
	calls.calls = map[Addr]Call{0x2000: {}} // the function before may call one that does not return
	wantPCs(t, walk(t, &w, space(src, calls), x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2000, 0x3010)
}

// GCC loses count of the stack in a function with an inline retpoline (-mindirect-branch=thunk-inline).
func TestInstructionsDecideWhereCallFrameInformationLeadsToNoCode(t *testing.T) {
	tables := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
		0x2010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI},
		0x3010: {Flags: FlagRoot},
	}}
	code := &fakeSource{rules: map[Addr]Rule{0x2010: {CFAReg: X86RSP, CFAOff: 24, Method: MethodHeuristic}}}
	s := space(tables, &fakeCalls{calls: map[Addr]Call{0x2010: {}, 0x3010: {}}})
	s.Modules()[0].Sources = []RuleSource{tables, code}
	var w Walker
	regs := x86Regs(0x1010, 0x7000, 0)
	wantPCs(t, walk(t, &w, s, regs, stack(0x7000, 0x2010, 1, 0x77777, 0x3010)), 0x1010, 0x2010, 0x3010)
	wantPCs(t, walk(t, &w, s, regs, stack(0x7000, 0x2010, 1, 0x77777, 0x4010)), 0x1010, 0x2010) // follows no call
}

// Kernel samples begin at the stack pointer.
func TestInstructionsDecideWhereCallFrameInformationLeadsBelowTheStackPointer(t *testing.T) {
	tables := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
		0x2010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{0, 5}}, // rbx, 24 bytes below
		0x3010: {Flags: FlagRoot},
	}}
	code := &fakeSource{rules: map[Addr]Rule{0x2010: {CFAReg: X86RSP, CFAOff: 24, Method: MethodHeuristic}}}
	s := space(tables, &fakeCalls{calls: map[Addr]Call{0x2010: {}, 0x3010: {}}})
	s.Modules()[0].Sources = []RuleSource{tables, code}
	regs := x86Regs(0x1010, 0x7000, 0)
	for _, c := range []struct {
		name string
		mem  *Snapshot
		want []Addr
		stop StopReason
	}{
		{"by instructions", stack(0x7000, 0x2010, 1, 2, 0x3010), []Addr{0x1010, 0x2010, 0x3010}, StopRoot},
		{"they lead to no call", stack(0x7000, 0x2010, 1, 2, 0x4010), []Addr{0x1010, 0x2010}, StopBadMemory},
	} {
		var w Walker
		wantPCs(t, walk(t, &w, s, regs, c.mem), c.want...)
		if w.StopReason() != c.stop {
			t.Errorf("%s: stop reason %v, want %v", c.name, w.StopReason(), c.stop)
		}
		if c.stop == StopBadMemory && w.UnreadAddr() != 0x7008+16-40 {
			t.Errorf("%s: unread %#x, want %#x", c.name, w.UnreadAddr(), 0x7008+16-40)
		}
	}
}
