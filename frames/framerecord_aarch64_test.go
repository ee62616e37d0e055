// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// recordWalk walks from a frame without a rule whose x29 leads to a record at 0x7010. Its caller 0x2010 has the rule,
// and a record at 0x7050 with the return address 0x3010.
func recordWalk(t *testing.T, rule *Rule, row *Row, calls map[Addr]Call) ([]Addr, *Walker) {
	t.Helper()
	src := &fakeSource{rules: map[Addr]Rule{0x3010: {Flags: FlagRoot, Method: MethodCFI}}, rows: map[Addr]*Row{}}
	if rule != nil {
		src.rules[0x2010] = *rule
	}
	if row != nil {
		src.rows[0x2010] = row
	}
	s := space(src, &fakeCalls{start: 0x1000, calls: calls})
	s.Arch = ARM64
	//  sp       local variables of both frames   x29: the record
	mem := stack(0x7000, 1, 2, 0x7050, 0x2010|9<<48, 0x1111, 0x3010, 0x3010, 0x3010, 0x3010, 0x3010, 0x7100, 0x3010|9<<48,
		5, 6, 7, 8)
	regs := &Regs{Arch: ARM64, PC: 0x1010, PACMask: 0x7f << 48}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(ARM64FP, 0x7010)
	var w Walker
	return walk(t, &w, s, regs, mem), &w
}

var recordCalls = map[Addr]Call{0x2010: {}, 0x3010: {Target: 0x1000, Direct: true}}

func TestFrameRecordLeavesTheStackPointerUnknown(t *testing.T) {
	rule := &Rule{CFAReg: ARM64SP, CFAOff: 32, Method: MethodCFI, Flags: FlagRAInLR}
	got, w := recordWalk(t, rule, nil, recordCalls)
	wantPCs(t, got, 0x1010, 0x2010, 0x3010)
	if f := w.Frame(); f.SP != 0 || f.Method != MethodFP || w.StopReason() != StopRoot {
		t.Fatalf("last frame %+v, stop reason %v; want no sp, %v, %v", f, w.StopReason(), MethodFP, StopRoot)
	}
	if sp, known := w.Regs().Get(ARM64SP); known || sp != 0x7060 {
		t.Fatalf("sp is at least %#x, known %v; want 0x7060, unknown", sp, known)
	}
}

func TestFrameRecordWithoutAnOuterOneEndsTheWalk(t *testing.T) {
	rule := &Rule{CFAReg: ARM64SP, CFAOff: 32, Method: MethodCFI, Saved: [NumCompact]uint8{4, 3}}
	got, w := recordWalk(t, rule, nil, map[Addr]Call{0x2010: {}})
	wantPCs(t, got, 0x1010, 0x2010)
	if w.StopReason() != StopUnproven {
		t.Fatalf("stop reason %v, want %v", w.StopReason(), StopUnproven)
	}
}

func TestStackPointerIsFoundByTheAddressOfTheFrameRecord(t *testing.T) {
	row := &Row{CFAReg: ARM64SP, CFAOff: 0x50, RA: RegRule{Kind: RuleOffset, Off: -24}}
	row.Regs[ARM64FP] = RegRule{Kind: RuleOffset, Off: -32}
	for name, c := range map[string]struct {
		rule Rule
		row  *Row
	}{
		"compact": {rule: Rule{CFAReg: ARM64SP, CFAOff: 0x50, Method: MethodCFI, Saved: [NumCompact]uint8{4, 3}}},
		"row":     {rule: Rule{CFAReg: ARM64SP, CFAOff: 0x50, Method: MethodCFI}, row: row},
	} {
		t.Run(name, func(t *testing.T) {
			got, w := recordWalk(t, &c.rule, c.row, recordCalls)
			wantPCs(t, got, 0x1010, 0x2010, 0x3010)
			if f := w.Frame(); f.SP != 0x7070 || f.Method != MethodCFI {
				t.Fatalf("frame %+v, want sp 0x7070 by CFI", f)
			}
		})
	}
}

func TestFramePointerRuleAppliesWithoutTheStackPointer(t *testing.T) {
	rule := &Rule{CFAReg: ARM64FP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2, 1}}
	got, w := recordWalk(t, rule, nil, recordCalls)
	wantPCs(t, got, 0x1010, 0x2010, 0x3010)
	if f := w.Frame(); f.SP != 0x7060 || f.Method != MethodCFI {
		t.Fatalf("frame %+v, want sp 0x7060 by CFI", f)
	}
}

// longjmp's call frame information has places of all registers but the stack pointer.
func TestFrameWithLoadedRegistersIsAcceptedIfItIsACaller(t *testing.T) {
	row := &Row{CFAReg: 0, RA: RegRule{Kind: RuleOffset, Off: 88}}
	row.Regs[ARM64SP] = RegRule{Kind: RuleUndefined}
	src := &fakeSource{
		rules: map[Addr]Rule{0x1010: {Method: MethodCFI}, 0x3010: {Flags: FlagRoot, Method: MethodCFI}},
		rows:  map[Addr]*Row{0x1010: row},
	}
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{0x3010: {}}}
	s := space(src, calls)
	s.Arch = ARM64
	mem := stack(0x7000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3010, 0, 0)
	regs := &Regs{Arch: ARM64, PC: 0x1010}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(0, 0x7000)
	var w Walker
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x3010)
	if f := w.Frame(); f.SP != 0 || w.StopReason() != StopRoot {
		t.Fatalf("last frame %+v, stop reason %v; want no sp, %v", f, w.StopReason(), StopRoot)
	}
	delete(calls.calls, 0x3010)
	s.Forget()
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010)
	if w.StopReason() != StopNoRule {
		t.Fatalf("stop reason %v, want %v", w.StopReason(), StopNoRule)
	}
}
