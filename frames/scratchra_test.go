// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// Go's functions on arm64 leave their return address in x3 when they call morestack.
func TestReturnAddressInAScratchRegisterNeedsProof(t *testing.T) {
	row := &Row{CFAReg: ARM64SP, RA: RegRule{Kind: RuleReg, Reg: 3}}
	src := &fakeSource{
		rules: map[Addr]Rule{
			0x1000: {CFAReg: ARM64SP, Flags: FlagRAInLR, Method: MethodHeuristic},
			0x2010: {CFAReg: ARM64SP, Method: MethodHeuristic},
			0x3010: {Flags: FlagRoot},
		},
		rows: map[Addr]*Row{0x2010: row},
	}
	calls := &fakeCalls{calls: map[Addr]Call{0x2010: {}, 0x3010: {Target: 0x2000, Direct: true}}, start: 0x2000}
	for name, c := range map[string]struct {
		x3, start Addr
		known     bool
		want      StopReason
	}{
		"a call of this function":     {0x3010, 0x2000, true, StopRoot},
		"with a signature":            {0x3010 | 1<<54, 0x2000, true, StopRoot},
		"a call of another function":  {0x3010, 0x2004, true, StopUnproven},
		"no call":                     {0x3020, 0x2000, true, StopUnproven},
		"a register of unknown value": {0x3010, 0x2000, false, StopUnproven},
	} {
		calls.start = c.start
		s := NewSpace(ARM64)
		s.SetModules([]*Module{{Start: 0x1000, End: 0x9000, Sources: []RuleSource{src}, Calls: calls}})
		regs := &Regs{Arch: ARM64, PC: 0x1000, PACMask: 0x7f << 48}
		regs.Set(ARM64SP, 0x7000)
		regs.Set(ARM64LR, 0x2010)
		if regs.Set(3, c.x3); !c.known {
			regs.Known &^= 1 << 3
		}
		var w Walker
		walk(t, &w, s, regs, stack(0x7000))
		if w.StopReason() != c.want {
			t.Errorf("%s: stop reason %v, want %v", name, w.StopReason(), c.want)
		}
	}
}
