// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// makecontext stores the address of __start_context as the return address. The byte before it is of another function,
// and its call frame information has a caller, wrongly.
func TestStackPreparedByHandEndsAtItsFirstReturnAddress(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodHeuristic},
	}}
	calls := &fakeCalls{start: 0x2010}
	s := space(src, calls)
	var w Walker
	mem := stack(0x7000, 0x2010, 0x5000, 0x3010)
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2010)
	if f := w.Frame(); w.StopReason() != StopRoot || f.LookupPC(X86_64) != 0x2010 {
		t.Fatalf("stop reason %v in %+v, want %v in 0x2010", w.StopReason(), f, StopRoot)
	}
	src.rules[0x2010] = Rule{CFAReg: X86RSP, CFAOff: 8, Method: MethodHeuristic} // a wrong rule of its instructions
	s.Forget()
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2010)
	delete(src.rules, 0x2010)
	calls.start = 0x2000 // in the middle of a function
	s.Forget()
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010)
	if w.StopReason() != StopNoRule {
		t.Fatalf("stop reason %v, want %v", w.StopReason(), StopNoRule)
	}
}

// The word is a pointer to a function.
func TestGeneratedCodeDoesNotReturnToAFunctionsFirstInstruction(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010:  {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
		0x20010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
	}}
	s := space(src, &fakeCalls{start: 0x2010})
	made := &Module{Start: 0x20000, End: 0x21000, Generated: true, Sources: []RuleSource{src}}
	s.SetModules(append([]*Module{made}, s.Modules()...))
	var w Walker
	mem := stack(0x7000, 0x2010, 0)
	for range 3 {
		wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2010)
		if w.StopReason() != StopRoot {
			t.Fatalf("stack prepared by hand: stop reason %v, want %v", w.StopReason(), StopRoot)
		}
		wantPCs(t, walk(t, &w, s, x86Regs(0x20010, 0x7000, 0), mem), 0x20010)
		if w.StopReason() != StopNoRule {
			t.Fatalf("generated code: stop reason %v, want %v", w.StopReason(), StopNoRule)
		}
	}
}

func TestSignalTrampolineNeedsNoCallBeforeIt(t *testing.T) {
	row := &Row{CFAReg: X86RSP, CFAOff: 8, CFADeref: true, RA: RegRule{Kind: RuleRegOffset, Reg: X86RSP, Off: 0}}
	src := &fakeSource{
		rules: map[Addr]Rule{
			0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodHeuristic},
			0x2010: {Flags: FlagExactPC, Method: MethodHeuristic},
			0x3010: {Flags: FlagRoot},
		},
		rows: map[Addr]*Row{0x2010: row},
	}
	var w Walker
	mem := stack(0x7000, 0x2010, 0x3010, 0x7100)
	wantPCs(t, walk(t, &w, space(src, &fakeCalls{}), x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2010, 0x3010)
	if f := w.Frame(); f.SP != 0x7100 || f.AfterCall {
		t.Fatalf("frame %+v, want sp 0x7100, not a caller", f)
	}
}

type countedCalls struct {
	fakeCalls
	asked int
}

func (c *countedCalls) CallBefore(ret Addr) (Call, bool) {
	c.asked++
	return c.fakeCalls.CallBefore(ret)
}

// A look at the instructions may read a page of the file.
func TestReturnAddressWithinItsFunctionIsNotLookedAt(t *testing.T) {
	for flags, want := range map[Flags]int{FlagWithin: 0, 0: 1} {
		src := &fakeSource{rules: map[Addr]Rule{
			0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
			0x2010: {Flags: FlagRoot | flags, Method: MethodCFI},
		}}
		calls := &countedCalls{fakeCalls: fakeCalls{calls: map[Addr]Call{0x2010: {}}}}
		var w Walker
		got := walk(t, &w, space(src, calls), x86Regs(0x1010, 0x7000, 0), stack(0x7000, 0x2010, 0))
		wantPCs(t, got, 0x1010, 0x2010)
		if calls.asked != want {
			t.Errorf("flags %v: %d looks for a call, want %d", flags, calls.asked, want)
		}
	}
}
