// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
)

type epilogue []byte

func (e epilogue) ReadCode(addr uint64, buf []byte) int {
	if addr >= uint64(len(e)) {
		return 0
	}
	return copy(buf, e[addr:])
}

// After the pop, GCC's call frame information is still relative to the frame pointer (x265).
func TestPoppedFramePointerIsTheCallers(t *testing.T) {
	const at = 3
	calls := heuristics.New(heuristics.Options{Arch: frames.X86_64, Code: epilogue{
		0x41, 0x5f, 0x5d,
		0x49, 0x8d, 0x65, 0xf0, 0x41, 0x5d, 0xc3}}) // lea rsp, [r13-16]; pop r13; ret
	row := frames.Row{CFAReg: 13, RA: frames.RegRule{Kind: frames.RuleOffset, Off: -8}}
	by := func(off int64) frames.RegRule {
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: frames.X86RBP, Off: off}
	}
	row.Regs[frames.X86RBP], row.Regs[frames.X86RBX], row.Regs[15] = by(0), by(-40), by(-8)
	row.Regs[13] = frames.RegRule{Kind: frames.RuleOffset, Off: -16}
	rule, more := row.Compact(frames.X86_64, frames.MethodCFI, 0)
	if more == nil {
		t.Fatal("the row fits a rule")
	}
	ask := func(pc uint64, row *frames.Row) (frames.Rule, *frames.Row) {
		return fixEpilogue(rule, row, frames.Query{PC: pc}, frames.X86_64, calls)
	}
	for _, pc := range []uint64{0, 2} {
		if _, got := ask(pc, &row); got != &row {
			t.Errorf("at %d, where the frame pointer is not popped, the row is changed to %+v", pc, got)
		}
	}
	got, full := ask(at, &row)
	if full != nil || got.CFAReg != 13 || got.CFAOff != 0 || got.Method != frames.MethodCFI {
		t.Errorf("rule %+v, row %+v; want r13+0 by CFI", got, full)
	}
	for i, reg := range frames.X86_64.CompactRegs() {
		if want := map[uint8]uint8{13: 2}[reg]; got.Saved[i] != want {
			t.Errorf("register %d is saved at CFA-%d, want CFA-%d", reg, 8*got.Saved[i], 8*want)
		}
	}
	row.CFAReg = frames.X86RBP
	if _, got := ask(at, &row); got != &row {
		t.Errorf("a row whose CFA is not relative to the frame pointer is changed to %+v", got)
	}
	row.CFAReg, row.Regs[13] = 10, by(-16)
	if _, got := ask(at, &row); got == nil || got.Regs[13].Kind != frames.RuleUndefined || row.Regs[13] != by(-16) {
		t.Errorf("row %+v, want r13 unknown, and the source's row unchanged", got)
	}
}
