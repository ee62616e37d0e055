// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// recordWalk walks from a frame without a rule whose x29 leads to a record at 0x7010. Its caller 0x2010 has the rule,
// and a record at 0x7050, whose return address is 0x3010.
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
	s.Arch = AArch64
	//  sp       local variables of both frames   x29: the record
	mem := stack(0x7000, 1, 2, 0x7050, 0x2010|9<<48, 0x1111, 0x3010, 0x3010, 0x3010, 0x3010, 0x3010, 0x7100, 0x3010|9<<48,
		5, 6, 7, 8)
	regs := &Regs{Arch: AArch64, PC: 0x1010, PACMask: 0x7f << 48}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(ARM64FP, 0x7010)
	var w Walker
	return walk(t, &w, s, regs, mem), &w
}

var recordCalls = map[Addr]Call{0x2010: {}, 0x3010: {Target: 0x1000, Direct: true}}

// A record does not give the caller's stack pointer: the frame may begin anywhere above. A rule relative to it is not
// applied, and no value is reported; the next record continues the walk.
func TestFrameRecordDoesNotGiveTheStackPointer(t *testing.T) {
	rule := &Rule{CFAReg: ARM64SP, CFAOff: 32, Method: MethodCFI, Flags: FlagLeafRA}
	got, w := recordWalk(t, rule, nil, recordCalls)
	wantPCs(t, got, 0x1010, 0x2010, 0x3010)
	if f := w.Frame(); f.SP != 0 || f.Method != MethodFP || w.StopReason() != StopRoot {
		t.Fatalf("ends with %+v, %v", f, w.StopReason())
	}
	if sp, known := w.Regs().Get(ARM64SP); known || sp != 0x7060 {
		t.Fatalf("the bound is %#x, known %v", sp, known)
	}
}

// Without a further record the walk ends with a missing register.
func TestFrameRecordThatProvesNothingEndsTheWalk(t *testing.T) {
	rule := &Rule{CFAReg: ARM64SP, CFAOff: 32, Method: MethodCFI, Saved: [NumCompact]uint8{4, 3}}
	got, w := recordWalk(t, rule, nil, map[Addr]Call{0x2010: {}})
	wantPCs(t, got, 0x1010, 0x2010)
	if w.StopReason() != StopUnproven {
		t.Fatalf("stop reason %v", w.StopReason())
	}
}

// The function's own rule has the distance of its record from its stack pointer.
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
				t.Fatalf("frame %+v", f)
			}
		})
	}
}

// A rule of a frame pointer needs no stack pointer.
func TestFramePointerRuleAppliesWithoutTheStackPointer(t *testing.T) {
	rule := &Rule{CFAReg: ARM64FP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2, 1}}
	got, w := recordWalk(t, rule, nil, recordCalls)
	wantPCs(t, got, 0x1010, 0x2010, 0x3010)
	if f := w.Frame(); f.SP != 0x7060 || f.Method != MethodCFI {
		t.Fatalf("frame %+v", f)
	}
}

// longjmp's call frame information has the place of everything but the stack pointer. A caller whose return address
// follows a call is accepted, without its stack pointer. Otherwise, as with mangled pointers in longjmp's buffer, the
// walk ends.
func TestFrameThatRegistersAreLoadedForIsAcceptedIfItIsReturnedTo(t *testing.T) {
	row := &Row{CFAReg: 0, RA: RegRule{Kind: RuleOffset, Off: 88}}
	row.Regs[ARM64SP] = RegRule{Kind: RuleUndefined}
	src := &fakeSource{
		rules: map[Addr]Rule{0x1010: {Method: MethodCFI}, 0x3010: {Flags: FlagRoot, Method: MethodCFI}},
		rows:  map[Addr]*Row{0x1010: row},
	}
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{0x3010: {}}}
	s := space(src, calls)
	s.Arch = AArch64
	mem := stack(0x7000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3010, 0, 0)
	regs := &Regs{Arch: AArch64, PC: 0x1010}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(0, 0x7000)
	var w Walker
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x3010)
	if f := w.Frame(); f.SP != 0 || w.StopReason() != StopRoot {
		t.Fatalf("ends with %+v, %v", f, w.StopReason())
	}
	delete(calls.calls, 0x3010)
	s.Forget()
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010)
	if w.StopReason() != StopNoRule {
		t.Fatalf("ends with %v", w.StopReason())
	}
}
