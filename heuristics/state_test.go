// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"testing"

	"prywalk/frames"
)

func TestExampleOfThePackageComment(t *testing.T) {
	code := []byte{
		0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 24, 0x48, 0x89, 0xfb, 0xe8, 0, 1, 0, 0, // the prologue and the call
		0x48, 0x89, 0xd8, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3,
	}
	const ret = base + 17
	s := New(Options{Arch: frames.X86_64, Code: bytesCode{base, code}, Funcs: oneFunc{base, base + uint64(len(code))}})
	a := s.analysis()
	defer a.free()
	sp, fp := startValue(hwSP), startValue(hwBP)
	a.begin(base, everywhere)
	for i, want := range []struct {
		reg   uint8
		v     value
		saved uint8 // register whose value the word at the stack pointer has; noReg means none
	}{
		{hwSP, sp.plus(-8), hwBP}, {hwBP, sp.plus(-8), hwBP}, {hwSP, sp.plus(-16), hwBX}, {hwSP, sp.plus(-40), noReg},
		{hwBX, startValue(hwDI), noReg}, {hwDI, value{}, noReg},
	} {
		a.step()
		got, word := a.st.regs[want.reg], a.st.load(a.st.regs[hwSP])
		if got != want.v || want.saved != noReg && !word.isStartValue(want.saved) {
			t.Errorf("instruction %d: register %d is %+v, want %+v; word at rsp %+v", i+1, want.reg, got, want.v, word)
		}
	}
	a.begin(ret, everywhere)
	for i, want := range []struct {
		reg uint8
		v   value
	}{
		{hwAX, startValue(hwBX)}, {hwBX, value{kind: loaded, base: hwBP, off: -8}}, {hwSP, fp.plus(8)},
	} {
		if a.step(); a.st.regs[want.reg] != want.v {
			t.Errorf("instruction %d from the call: register %d is %+v, want %+v", i+1, want.reg, a.st.regs[want.reg], want.v)
		}
	}
	if f := a.step(); f.kind != flowReturn || f.ret != fp.plus(16) {
		t.Errorf("the return: %+v, want CFA rbp+16", f)
	}
	r, row, ok := s.Rule(frames.Query{PC: ret, AfterCall: true})
	if !ok || row != nil || r.CFAReg != frames.X86RBP || r.CFAOff != 16 || r.Saved[0] != 2 || r.Saved[1] != 3 ||
		r.Method != frames.MethodFP {
		t.Errorf("rule %+v, %v, %v; want rbp+16, rbp at CFA-16, rbx at CFA-24", r, row, ok)
	}
}
