// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

type leftAt struct {
	frame LeftFrame
	stop  StopReason // for which it answers
}

func (l leftAt) FindLeft(_ *Regs, _ Memory, stop StopReason) (LeftFrame, bool) {
	if stop != l.stop {
		return LeftFrame{}, false
	}
	return l.frame, l.frame.Unread == 0
}

func TestWalkGoesOnAtTheStackThatTheThreadHasLeft(t *testing.T) {
	root := ruleOfRoot{}
	for what, c := range map[string]struct {
		left   leftAt
		source []RuleSource // of the code that the thread runs
		want   StopReason
		depth  int
	}{
		"from a thread's first function": {leftAt{LeftFrame{PC: 0x3010, SP: 0x9000, FP: 0x9100, Interrupted: true}, StopRoot},
			[]RuleSource{root}, StopRoot, 2},
		"from code without rules": {leftAt{LeftFrame{PC: 0x3010, SP: 0x9000, FP: 0x9100, Interrupted: true}, StopNoRule},
			nil, StopRoot, 2},
		"not from a first function": {leftAt{LeftFrame{PC: 0x3010, SP: 0x9000}, StopNoRule}, []RuleSource{root}, StopRoot, 1},
		"not copied":                {leftAt{LeftFrame{Unread: 0xa000}, StopRoot}, []RuleSource{root}, StopBadMemory, 1},
	} {
		s := NewSpace(X86_64)
		s.SetModules([]*Module{{Start: 0x1000, End: 0x2000, Generated: true, NoFP: true, Sources: c.source},
			{Start: 0x3000, End: 0x4000, Sources: []RuleSource{root}}})
		s.SetLeftStacks([]LeftStack{c.left})
		regs := Regs{Arch: X86_64, PC: 0x1100}
		regs.Set(X86RSP, 0x7000)
		regs.Set(X86RBP, 0)
		var w Walker
		w.Init(s, &regs, &Snapshot{Stack: Region{Addr: 0x7000, Bytes: make([]byte, 0x100)}})
		n := 0
		for w.Next() {
			n++
		}
		if w.StopReason() != c.want || n != c.depth || w.UnreadAddr() != c.left.frame.Unread {
			t.Errorf("%s: %v after %d frames, unread %#x; want %v after %d", what, w.StopReason(), n, w.UnreadAddr(), c.want,
				c.depth)
		}
		f := w.Frame()
		if n == 2 && (f.PC != 0x3010 || f.SP != 0x9000 || f.FP != 0x9100 || f.AfterCall) {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

type ruleOfRoot struct{}

func (ruleOfRoot) Rule(Query) (Rule, *Row, bool) {
	return Rule{Method: MethodCFI, Flags: FlagRoot}, nil, true
}
