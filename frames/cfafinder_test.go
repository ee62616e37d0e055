// SPDX-License-Identifier: Apache-2.0

package frames

import "testing"

type claim struct {
	cfa, unread Addr
	ok          bool
	pc          *Addr
}

func (claim) Eval(*Regs, Memory, uint64) (uint64, bool) { return 0, false }

func (c claim) FindCFA(_ *Regs, _ Memory, pc Addr) (cfa, unread Addr, ok bool) {
	*c.pc = pc
	return c.cfa, c.unread, c.ok
}

type ruleOf struct{ row *Row }

func (r ruleOf) Rule(Query) (Rule, *Row, bool) { return Rule{Method: MethodHeuristic}, r.row, true }

func TestCFAFinderReturnsTheCFAOrTheStopReason(t *testing.T) {
	for what, c := range map[string]struct {
		claim claim
		want  StopReason
		depth int
	}{
		"found":     {claim{cfa: 0x7010, ok: true}, StopRoot, 1},
		"not found": {claim{}, StopNoRule, 1},
		"lacks":     {claim{unread: 0x9000}, StopBadMemory, 1},
	} {
		var asked Addr
		c.claim.pc = &asked
		s := NewSpace(X86_64)
		row := &Row{CFAExpr: c.claim, RA: RegRule{Kind: RuleOffset, Off: -8}}
		s.SetModules([]*Module{{Start: 0x1000, End: 0x2000, Generated: true, Sources: []RuleSource{ruleOf{row}}}})
		regs := Regs{Arch: X86_64, PC: 0x1100, Known: ^uint64(0)}
		regs.Set(X86RSP, 0x7000)
		var w Walker
		w.Init(s, &regs, &Snapshot{Stack: Region{Addr: 0x7000, Bytes: make([]byte, 0x100)}})
		n := 0
		for w.Next() {
			n++
		}
		if w.StopReason() != c.want || n != c.depth || asked != 0x1100 {
			t.Errorf("%s: %v after %d frames, FindCFA called at %#x; want %v after %d at 0x1100", what, w.StopReason(), n, asked,
				c.want,
				c.depth)
		}
		if c.claim.unread != 0 && w.UnreadAddr() != c.claim.unread {
			t.Errorf("%s: the word at %#x is unread, want %#x", what, w.UnreadAddr(), c.claim.unread)
		}
	}
}
