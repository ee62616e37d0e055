// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

// V8's entry trampoline calls a builtin that ends in such a jump.
func TestFramePointerIsAcceptedThroughATailCall(t *testing.T) {
	root := map[Addr]Rule{0x4010: {Flags: FlagRoot, Method: MethodCFI}}
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{
		0x2010: {Target: 0x5000, Direct: true}, // it jumped to 0x1000
		0x3010: {}, 0x4010: {},
	}}
	//                  sp      a remnant  fp: outer, RA         outer: its rbp, RA
	mem := stack(0x7000, 0, 0, 0x3010, 0, 0x7030, 0x2010, 0x7050, 0x3010, 0, 0, 0, 0x4010, 0, 0)
	var w Walker
	s := space(&fakeSource{rules: root}, calls)
	regs := x86Regs(0x1010, 0x7000, 0x7020)
	w.Init(s, regs, mem)
	w.Next()
	if !w.Next() || w.Frame().PC != 0x2010 || w.Frame().Method != MethodFP {
		t.Fatalf("caller %+v (%v), want 0x2010 by frame pointer", w.Frame(), w.StopReason())
	}
	mem = stack(0x7000, 0, 0, 0x3010, 0, 0x7030, 0x2010, 0x7050, 7, 0, 0, 0, 0x4010, 0, 0)
	w.Init(s, regs, mem) // the outer frame pointer leads nowhere
	w.Next()
	if !w.Next() || w.Frame().PC != 0x3010 || w.Frame().Method != MethodScan {
		t.Fatalf("caller %+v (%v), want 0x3010 by scan", w.Frame(), w.StopReason())
	}
}

func TestFramePointerThroughATailCallFromAFunctionThatIsCalledDirectly(t *testing.T) {
	root := map[Addr]Rule{0x4010: {Flags: FlagRoot, Method: MethodCFI}}
	calls := &leavingOne{fakeCalls{calls: map[Addr]Call{0x2010: {Target: 0x5000, Direct: true},
		0x4010: {Target: 0x2000, Direct: true}}, start: 0x1000}, 0x5000}
	mem := stack(0x7000, 0, 0x7020, 0, 0, 0x7030, 0x2010, 0x7050, 0x4010, 0, 0)
	var w Walker
	w.Init(space(&fakeSource{rules: root}, calls), x86Regs(0x1010, 0x7000, 0x7020), mem)
	w.Next()
	if more := w.Next(); !more || w.Frame().PC != 0x2010 || w.Frame().Method != MethodFP {
		t.Errorf("caller %+v (%v), want 0x2010 by frame pointer", w.Frame(), w.StopReason())
	}
}

type leavingOne struct {
	fakeCalls
	start Addr
}

func (l *leavingOne) EndsInTailCall(start Addr) bool { return start == l.start }

// Hand-written code of unknown bounds has an outer function's value in the frame pointer. With it a frame would be
// missing.
func TestFramePointerOfAFrameFurtherOutIsNotAccepted(t *testing.T) {
	root := map[Addr]Rule{0x4010: {Flags: FlagRoot, Method: MethodCFI}}
	calls := &jumping{fakeCalls{
		calls: map[Addr]Call{0x2010: {Target: 0x5000, Direct: true}, 0x3010: {}, 0x4010: {}},
	}, true}
	//                  sp      the caller  fp: outer, RA            outer: its rbp, RA
	mem := stack(0x7000, 0, 0, 0x3010, 0, 0x7030, 0x2010, 0x7050, 0x4010, 0, 0, 0, 0x4010, 0, 0)
	var w Walker
	caller := func() Frame {
		w.Init(space(&fakeSource{rules: root}, calls), x86Regs(0x1010, 0x7000, 0x7020), mem)
		w.Next()
		w.Next()
		return w.Frame()
	}
	if f := caller(); f.PC != 0x2010 || f.Method != MethodFP {
		t.Fatalf("the called function ends in a jump: caller %+v (%v), want 0x2010 by frame pointer", f, w.StopReason())
	}
	calls.leaves = false
	if f := caller(); f.PC != 0x3010 {
		t.Fatalf("no jump: caller %+v (%v), want 0x3010", f, w.StopReason())
	}
}

type jumping struct {
	fakeCalls
	leaves bool
}

func (j *jumping) EndsInTailCall(Addr) bool { return j.leaves }

func TestScanDoesNotPassOverGeneratedCode(t *testing.T) {
	root := map[Addr]Rule{0x4010: {Flags: FlagRoot, Method: MethodCFI}}
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{0x4010: {}}}
	s := space(&fakeSource{rules: root}, calls)
	jit := &Module{Start: 0xa000, End: 0xb000, Generated: true, Calls: &fakeCalls{}}
	s.SetModules([]*Module{s.Modules()[0], jit})
	var w Walker
	regs := x86Regs(0x1010, 0x7000, 0x7010)
	w.Init(s, regs, stack(0x7000, 0, 0, 0x7020, 0xa010, 0, 0x4010, 0, 0))
	if w.Next(); w.Next() || w.StopReason() != StopNoRule {
		t.Fatalf("caller %+v (%v), want %v", w.Frame(), w.StopReason(), StopNoRule)
	}
	w.Init(s, regs, stack(0x7000, 0, 0, 0x7020, 0xc010, 0, 0x4010, 0, 0))
	if w.Next(); !w.Next() || w.Frame().PC != 0x4010 || w.Frame().Method != MethodScan {
		t.Fatalf("caller %+v (%v), want 0x4010 by scan", w.Frame(), w.StopReason())
	}
}

// Java's compilers keep other values there.
func TestOtherValueInTheFramePointerIsNotAccepted(t *testing.T) {
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{0x3010: {}, 0x4010: {}}}
	s := space(&fakeSource{}, calls)
	s.Modules()[0].Generated, s.Modules()[0].NoFP = true, true
	var w Walker
	w.Init(s, x86Regs(0x1010, 0x7000, 0x7010), stack(0x7000, 0, 0, 0x7020, 0x3010, 0, 0x4010, 0, 0))
	if w.Next(); w.Next() || w.StopReason() != StopNoRule {
		t.Fatalf("caller %+v (%v), want %v", w.Frame(), w.StopReason(), StopNoRule)
	}
}

func TestScanPassesOverACopyOfTheReturnAddress(t *testing.T) {
	root := map[Addr]Rule{0x4010: {Flags: FlagRoot, Method: MethodCFI}}
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{0x4010: {}}}
	s := space(&fakeSource{rules: root}, calls)
	for _, c := range []struct {
		words []uint64
		sp    Addr // of the caller
	}{
		{[]uint64{7, 7, 0x4010, 0x4010, 9, 9}, 0x7020},
		{[]uint64{7, 0x4010, 0x4010, 9, 9, 9}, 0x7010}, // the second was pushed by a function that is not a caller
	} {
		var w Walker
		w.Init(s, x86Regs(0x1010, 0x7000, 0), stack(0x7000, c.words...))
		if w.Next(); !w.Next() || w.Frame().PC != 0x4010 || w.Frame().SP != c.sp {
			t.Errorf("words %#x: caller %+v (%v), want 0x4010 with sp %#x", c.words, w.Frame(), w.StopReason(), c.sp)
		}
	}
}
