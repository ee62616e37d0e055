// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// twoStacks has n words copied of the stack at from, and goes on at to.
func twoStacks(from, to Addr, flags Flags) (*Space, *Regs, *Snapshot) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 64, Method: MethodCFI},
		0x2010: {CFAReg: X86RBP, CFAOff: 16, Method: MethodCFI, Flags: flags},
		0x3010: {CFAReg: X86RSP, CFAOff: 64, Method: MethodCFI},
		0x4010: {Flags: FlagRoot},
	}}
	mem := stack(from, 0, 0, 0, 0, 0, 0, 0, 0x2010, 0, 0)
	other := stack(to, 0, 0x3010, 0, 0, 0, 0, 0, 0, 0, 0x4010)
	mem.Others = []Region{other.Stack}
	mem.StackEnd = from + 64<<20 // one mapping for all stacks, as in Go
	return space(src, nil), x86Regs(0x1010, from, to), mem
}

func TestReachIsOnTheStackThatTheWalkBeganOn(t *testing.T) {
	const from = 0xc000100000
	cases := []struct {
		name  string
		to    Addr
		flags Flags
		reach Addr
	}{
		{"another stack, megabytes above", from + 4<<20, FlagStackSwitch, from + 64},
		{"another stack, below", from - 4<<20, FlagStackSwitch, from + 64},
		{"the same stack", from + 64 + 32, FlagStackSwitch, from + 64 + 32 + 16 + 64},
		{"a large frame of the same stack", from + 64 + 1<<20, 0, from + 64 + 1<<20 + 16 + 64},
	}
	for _, c := range cases {
		s, regs, mem := twoStacks(from, c.to, c.flags)
		var w Walker
		wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x2010, 0x3010, 0x4010)
		if got := w.HighestSP(); got != c.reach || w.OnOtherStack() != (c.reach == from+64) {
			t.Errorf("%s: reach %#x, away %v; want reach %#x", c.name, got, w.OnOtherStack(), c.reach)
		}
	}
}

func TestUncopiedWordOfAnotherStackDoesNotLengthenTheReach(t *testing.T) {
	const from, to = 0xc000100000, 0xc000100000 + 4<<20
	s, regs, mem := twoStacks(from, to, FlagStackSwitch)
	mem.Others = nil
	var w Walker
	walk(t, &w, s, regs, mem)
	if w.StopReason() != StopStackCut || w.UnreadAddr() != to+8 || !w.OnOtherStack() || w.HighestSP() != from+64 {
		t.Errorf("%v at %#x, away %v, reach %#x; want %v at %#x, away, reach %#x", w.StopReason(), w.UnreadAddr(),
			w.OnOtherStack(), w.HighestSP(), StopStackCut, to+8, from+64)
	}
}

type switching struct{ fakeCalls }

func (*switching) SwitchesStack(Addr, bool) bool { return true }

func TestReachEndsWhereCodeHasLoadedAnotherStack(t *testing.T) {
	const from, to = 0x700000, 0x700000 + 1<<20
	s, regs, mem := twoStacks(from, to, 0)
	s.modules[0].Calls = &switching{}
	for range 2 { // the second time from the cache
		var w Walker
		wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x2010, 0x3010, 0x4010)
		if w.HighestSP() != from+64 {
			t.Errorf("reach %#x, want %#x", w.HighestSP(), from+64)
		}
	}
}

func TestCallBackToTheFirstStackCountsAsThatStack(t *testing.T) {
	var r stackTracker
	r.trackStep(0xc000000100, 0x7ff000, maxSameStackGap) // to C's stack
	if !r.onOtherStack {
		t.Fatal("on C's stack the walk is not away")
	}
	r.trackStep(0x7ff800, 0xc000000100+600, maxSameStackGap) // back
	if r.onOtherStack {
		t.Error("back on the goroutine's stack the walk is still away")
	}
	r.trackStep(0xc000001000, 0xc000801000, maxSameStackGap)
	if r.highestSP != 0xc000001000 || !r.onOtherStack {
		t.Errorf("reach %+v, want away and the highest sp 0xc000001000", r)
	}
}

func TestTheWordThatLeadsToAnotherStackIsNoted(t *testing.T) {
	const first, other = 0x7ffd00001000, 0x7f0000001000 // the other one is below
	row := &Row{CFAReg: X86RSP, CFAOff: 8, CFADeref: true, RA: RegRule{Kind: RuleOffset, Off: -8}}
	src := &fakeSource{
		rules: map[Addr]Rule{0x1010: {Method: MethodCFI}, 0x2010: {Flags: FlagRoot}},
		rows:  map[Addr]*Row{0x1010: row},
	}
	mem := stack(first, 0, other+16)
	s, regs := space(src, nil), x86Regs(0x1010, first, 0)
	var w Walker
	walk(t, &w, s, regs, mem)
	if w.StopReason() != StopBadMemory || !w.OnOtherStack() || w.LastStackLink() != (StackLink{first + 8, -8}) {
		t.Errorf("%v, on another stack %v, by %+v", w.StopReason(), w.OnOtherStack(), w.LastStackLink())
	}
	mem.Others = []Region{stack(other, 0, 0x2010, 0).Stack}
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x2010)
	if w.LastStackLink() != (StackLink{At: first + 8}) || !w.StopReason().Complete() {
		t.Errorf("%v, by %+v", w.StopReason(), w.LastStackLink())
	}
}

func TestLongStepWithinTheCopyMayLeaveTheStack(t *testing.T) {
	const step = 10000 // words, more than largeStep
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 8 * step, Method: MethodCFI},
		0x2010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI},
		0x3010: {Flags: FlagRoot},
	}}
	words := make([]uint64, step+10)
	words[step-1], words[step+1] = 0x2010, 0x3010
	s, mem := space(src, &switching{}), stack(0x70000, words...)
	for range 2 { // the second time from the cache
		var w Walker
		wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x70000, 0), mem), 0x1010, 0x2010, 0x3010)
		if w.HighestSP() != 0x70000 || !w.OnOtherStack() {
			t.Errorf("reach %#x, away %v; want 0x70000, away", w.HighestSP(), w.OnOtherStack())
		}
	}
}
