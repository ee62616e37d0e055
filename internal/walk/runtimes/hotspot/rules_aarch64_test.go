// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const base = 0x10000

// codeHost has code at base.
type codeHost struct {
	managed.Host
	code []byte
}

func (h codeHost) ReadCode(addr uint64, b []byte) int {
	if addr < base || addr-base > uint64(len(h.code)) {
		return 0
	}
	return copy(b, h.code[addr-base:])
}

func rulesOf(code []insn, frame int32, complete int) (*VM, *blob) {
	b := make([]byte, 0, 4*len(code))
	for _, w := range code {
		b = binary.LittleEndian.AppendUint32(b, uint32(w))
	}
	return &VM{host: codeHost{code: b}}, &blob{
		begin: base, end: base + uint64(len(b)), frameWords: frame / 8, completeAt: int32(4 * complete),
	}
}

func (b *blob) codelet() *codelet { return &codelet{begin: b.begin, end: b.end} }

const (
	pushed32   insn = 0xd10083ff // sub sp, sp, #32
	popped32   insn = 0x910083ff // add sp, sp, #32
	storesPair insn = 0xa9017bfd // stp x29, x30, [sp, #16]
	loadsPair  insn = 0xa9417bfd
	less16     insn = 0xd10043ff // sub sp, sp, #16
	callInsn   insn = 0x94001000
	other      insn = 0x8b010000 // add x0, x0, x1
	crumb      insn = 0xa9bf27ff // stp xzr, x9, [sp, #-16]!
	branch     insn = 0x54000040 // b.eq, over the next
	far        insn = 0x14001000 // b, out of the code
	pollX8     insn = 0xf9402388 // ldr x8, [x28, #64]
)

// CFA − sp, and whether the return address is in x30; −1 means no rule.
type wantARM64 struct {
	cfa  int32
	inLR bool
}

func checkARM64(t *testing.T, name string, i int, r frames.Rule, row *frames.Row, ok bool, w wantARM64) {
	t.Helper()
	switch {
	case ok != (w.cfa >= 0):
		t.Errorf("%s %d: %v", name, i, ok)
	case !ok:
	case row != nil || r.CFAReg != regSP || r.CFAOff != w.cfa || (r.Flags&frames.FlagRAInLR != 0) != w.inLR ||
		!w.inLR && (r.Saved[0] != 2 || r.Saved[1] != 1):
		t.Errorf("%s %d: %+v %+v, want %+v", name, i, r, row, w)
	}
}

func TestEachInstructionOfACompiledMethodHasItsFrame(t *testing.T) {
	gone, whole := wantARM64{0, true}, wantARM64{32, false}
	for name, c := range map[string]struct {
		code     []insn
		complete int
		want     []wantARM64
	}{
		"at once": {[]insn{nop, pushed32, storesPair, other, other, loadsPair, popped32, pollX8, ret}, 3,
			[]wantARM64{gone, gone, {32, true}, whole, whole, whole, whole, gone, gone}},
		"in two": {[]insn{pushPair, setFP, less16, other, popCrumb, popPair, ret}, 3,
			[]wantARM64{gone, {16, false}, {16, false}, whole, whole, {16, false}, gone}},
		"a call of C's": {[]insn{pushed32, storesPair, crumb, callInsn, popCrumb, other, loadsPair, popped32, ret}, 2,
			[]wantARM64{gone, {32, true}, whole, {48, false}, {48, false}, whole, whole, whole, gone}},
		"a jump to a stub behind its end": {[]insn{pushed32, storesPair, other, loadsPair, popped32, far}, 2,
			[]wantARM64{gone, {32, true}, whole, whole, whole, gone}},
		"a jump to a stub within it": {[]insn{pushed32, storesPair, other, branch, far, other, loadsPair, popped32, ret}, 2,
			[]wantARM64{gone, {32, true}, whole, whole, whole, whole, whole, whole, gone}},
		"an entry in a loop": {[]insn{pushed32, storesPair, other, ret, 0xd14053e9, 0xf900013f, pushed32, storesPair, other,
			loadsPair, popped32, ret}, 2,
			[]wantARM64{gone, {32, true}, {-1, false}, gone, gone, gone, gone, {32, true}, whole, whole, whole, gone}},
	} {
		r, p := rulesOf(c.code, 32, c.complete)
		for i, w := range c.want {
			if w.cfa < 0 {
				continue
			}
			rule, row, ok := r.ruleInMethodARM64(p, base+4*uint64(i))
			checkARM64(t, name, i, rule, row, ok, w)
		}
	}
}

func TestReturnAddressesInMethodsHaveTheirFrame(t *testing.T) {
	for name, c := range map[string]struct {
		code []insn // after a call
		want int32
	}{
		"nothing":               {[]insn{other, loadsPair, popped32, ret}, 32},
		"a place of the caller": {[]insn{popCrumb, loadsPair, popped32, ret}, 48},
		"a pair":                {[]insn{0xa8c10be1, loadsPair, popped32, ret}, 48}, // ldp x1, x2, [sp], #16
		"the end":               {[]insn{loadsPair, popped32, ret}, 32},
		"no return":             {nil, 32},
	} {
		r, p := rulesOf(append([]insn{pushed32, storesPair, callInsn}, c.code...), 32, 2)
		rule, row, ok := r.ruleAtReturnARM64(p, base+12)
		checkARM64(t, name, 0, rule, row, ok, wantARM64{c.want, false})
	}
	r, p := rulesOf([]insn{pushPair, less16, callInsn, popCrumb, popPair, ret}, 32, 2)
	rule, row, ok := r.ruleAtReturnARM64(p, base+12)
	checkARM64(t, "the end in two", 0, rule, row, ok, wantARM64{32, false})
}

func TestStubsAfterAMethodHaveNoFrame(t *testing.T) {
	const movz12, movk12, movz8, movk8 = 0xd280000c, 0xf2a0000c, 0xd2800008, 0xf2a00008
	for name, c := range map[string]struct {
		code []insn
		n    int // in the piece
	}{
		"to the interpreter": {[]insn{isb, movz12, movk12, movz8, movk8, jumpX8}, 6},
		"far away":           {[]insn{loadNext, jumpX8}, 2},
		"a poll":             {[]insn{0x10ffffe8, 0xf9002388, far}, 3}, // adr x8, four bytes before
	} {
		begin := []insn{pushed32, storesPair, other, loadsPair, popped32, ret, other, other}
		r, p := rulesOf(append(begin, c.code...), 32, 2)
		for i := range c.n {
			rule, row, ok := r.ruleInMethodARM64(p, base+4*uint64(len(begin)+i))
			checkARM64(t, name, i, rule, row, ok, wantARM64{0, true})
		}
		stub := base + 4*uint64(len(begin))
		if c.n > 2 && name != "a poll" && !r.around(p.begin, p.end, stub).inCallStub(stub) {
			t.Errorf("%s: it is not known", name)
		}
	}
	r, p := rulesOf([]insn{pushed32, storesPair, movz8, movk8, jumpX8}, 32, 2)
	rule, row, ok := r.ruleInMethodARM64(p, base+12)
	checkARM64(t, "a jump without a method", 0, rule, row, ok, wantARM64{32, false})
}

func TestInterpretedFramesAreFollowedFromEntryToReturn(t *testing.T) {
	enters := []insn{other, 0x910143fd, other, 0xa9044fff, other} // add x29, sp, #80; stp xzr, x19, [sp, #64]
	r, p := rulesOf(enters, 0, -1)
	for i := range enters {
		rule, row, ok := r.ruleInEntryARM64(p.codelet(), base+4*uint64(i))
		inLR := ok && row != nil && row.RA.Kind == frames.RuleReg && row.CFAExpr == bySender(19)
		inFrame := ok && row != nil && row.RA == interpretedARM64.RA && rule.CFAReg == 19
		if i < 2 != inLR || (i == 2 || i == 3) != inFrame || i == 4 && row != interpretedARM64 {
			t.Errorf("entry %d: %+v %+v %v", i, rule, row, ok)
		}
	}
	if got := r.entryCode(p.codelet()).entryOf().sender; got != 19 {
		t.Errorf("sender %d", got)
	}
	const fromX9 = 0xaa0903f4 // mov x20, x9
	leaves := []insn{other, backToFP, popPair, fromX9, alignESP, pushX0LR, pushed32, callInsn, popped32, popX0LR, ret,
		other}
	r, p = rulesOf(leaves, 0, -1)
	for i, w := range []string{"frame", "frame", "frame", "x9", "x20", "leaf", "stack", "stack", "stack", "stack", "leaf",
		"frame"} {
		rule, row, ok := r.around(p.begin, p.end, base+4*uint64(i)).ruleInInterpreter(base+4*uint64(i), false)
		got := ""
		switch {
		case !ok:
		case row == interpretedARM64:
			got = "frame"
		case row == nil && rule == leaf:
			got = "leaf"
		case row != nil && row.CFAExpr == bySender(9):
			got = "x9"
		case row != nil && row.CFAExpr == bySender(20):
			got = "x20"
		case row != nil && row.RA.Kind == frames.RuleOffset:
			got = "stack"
		}
		if got != w {
			t.Errorf("end %d: %q, want %q: %+v %+v", i, got, w, rule, row)
		}
	}
	if rule, row, ok := r.around(p.begin, p.end, base+4*8).ruleInInterpreter(base+4*8, true); !ok || row == nil ||
		rule.CFAOff != 48 || row.RA.Kind != frames.RuleOffset {
		t.Errorf("while the handler is looked for: %+v %+v %v", rule, row, ok)
	}
	knows := []insn{other, callInsn, 0xd61f02e0} // br x23
	r, p = rulesOf(knows, 0, -1)
	if rule, row, ok := r.around(p.begin, p.end, base+8).ruleInInterpreter(base+8, true); !ok || row == nil ||
		row.RA.Reg != 23 || rule.CFAReg != regSP {
		t.Errorf("a method that it knows: %+v %+v %v", rule, row, ok)
	}
}

func TestAdaptersKeepTheReturnAddress(t *testing.T) {
	code := []insn{other, jumpX8, pushPair, setFP, callInsn, popPair, 0x910003f3, less16, jumpX8} // mov x19, sp
	r, p := rulesOf(code, 0, -1)
	r.sender = 19
	for i, w := range []wantARM64{{0, true}, {0, true}, {0, true}, {16, false}} {
		rule, row, ok := r.ruleInAdapterARM64(p, base+4*uint64(i), false)
		checkARM64(t, "adapter", i, rule, row, ok, w)
	}
	for i, caller := range map[int]bool{4: false, 5: true} {
		if rule, _, ok := r.ruleInAdapterARM64(p, base+4*uint64(i), caller); !ok || rule.CFAReg != regFP {
			t.Errorf("in its callInsn, %d: %+v %v", i, rule, ok)
		}
	}
	rule, row, ok := r.ruleInAdapterARM64(p, base+4*6, false)
	checkARM64(t, "behind the call", 6, rule, row, ok, wantARM64{0, true})
	for _, i := range []int{7, 8} {
		if rule, row, ok := r.ruleInAdapterARM64(p, base+4*uint64(i), false); !ok || row == nil || rule.CFAReg != 19 {
			t.Errorf("on the interpreter's stack, %d: %+v %+v %v", i, rule, row, ok)
		}
	}
}

// CFA ≥ sp, and bounded time.
func FuzzAnyCode(f *testing.F) {
	add := func(words ...insn) {
		var b []byte
		for _, w := range words {
			b = binary.LittleEndian.AppendUint32(b, uint32(w))
		}
		f.Add(b, uint16(32), uint16(2), uint16(3))
	}
	add(pushed32, storesPair, crumb, callInsn, popCrumb, loadsPair, popped32, ret)
	add(backToFP, popPair, alignESP, pushX0LR, callInsn, popX0LR, jumpX8)
	add(popPair, 0xaa0903f4, moveESP, ret)
	add(0x14000000, 0xd280000c, jumpX8)
	add(0x910143fd, 0xa9044fff)
	f.Fuzz(func(t *testing.T, code []byte, frame, complete, at uint16) {
		r := &VM{host: codeHost{code: code}}
		p := &blob{begin: base, end: base + uint64(len(code)), frameWords: int32(frame / 8), completeAt: int32(complete)}
		pc := base + uint64(at)
		r.sender = r.entryCode(p.codelet()).entryOf().sender
		for name, rule := range map[string]func() (frames.Rule, *frames.Row, bool){
			"method": func() (frames.Rule, *frames.Row, bool) { return r.ruleInMethodARM64(p, pc) },
			"caller": func() (frames.Rule, *frames.Row, bool) { return r.ruleAtReturnARM64(p, pc) },
			"entry":  func() (frames.Rule, *frames.Row, bool) { return r.ruleInEntryARM64(p.codelet(), pc) },
			"interpreter": func() (frames.Rule, *frames.Row, bool) {
				return r.around(p.begin, p.end, pc).ruleInInterpreter(pc, false)
			},
			"returns": func() (frames.Rule, *frames.Row, bool) {
				return r.around(p.begin, p.end, pc).ruleInInterpreter(pc, true)
			},
			"adapter": func() (frames.Rule, *frames.Row, bool) { return r.ruleInAdapterARM64(p, pc, at%2 == 0) },
		} {
			got, _, ok := rule()
			if ok && got.CFAReg == regSP && (got.CFAOff < 0 || int64(got.CFAOff) > int64(frame)+2*maxPushed) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		r.around(p.begin, p.end, pc).inCallStub(pc)
	})
}

func TestInterpretedCallersSPMayBeBelowTheFrame(t *testing.T) {
	for sender, want := range map[uint64]uint64{0x7000: 0x8010, 0x8010: 0x8010, 0x9000: 0x9000} {
		b := make([]byte, 16)
		binary.LittleEndian.PutUint64(b[8:], sender)
		mem := &frames.Snapshot{Stack: frames.Region{Addr: 0x7ff0, Bytes: b}, StackEnd: 0xa000}
		regs := &frames.Regs{Arch: frames.ARM64}
		regs.Set(regFP, 0x8000)
		if cfa, unread, ok := (interpretedCFA{}).FindCFA(regs, mem, 0); cfa != want || unread != 0 || !ok {
			t.Errorf("%#x: %#x, %#x, %v, want %#x", sender, cfa, unread, ok, want)
		}
		if _, unread, ok := (interpretedCFA{}).FindCFA(regs, &frames.Snapshot{}, 0); ok || unread != 0x7ff8 {
			t.Errorf("without memory: %#x, %v", unread, ok)
		}
	}
}
