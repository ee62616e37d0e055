// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"testing"

	"prywalk/frames"
)

// A passive read knows neither g's register nor the thread pointer.
func TestAThreadThatGaveItsGoroutineUpInMorestackHasItsRootThere(t *testing.T) {
	variants := append(older(t), variant{"", plainSource, noCgo, nil}, variant{"arm64", plainSource, forARM, nil})
	for _, v := range variants {
		tab, _ := open(t, build(t, v.src, v.env, v.args...))
		c, ok := tab.GOffsets()
		var schedule, newstack *frames.Row
		for f, target := range map[string]string{
			"runtime.goschedImpl": "runtime.schedule", "runtime.morestack": "runtime.newstack",
		} {
			for _, pc := range callsIn(t, tab, f, target) {
				_, row, found := tab.Rule(frames.Query{PC: pc, AfterCall: true})
				if ok = ok && found && row != nil; f == "runtime.morestack" {
					newstack = row
				} else {
					schedule = row
				}
			}
		}
		if !ok || schedule == nil || newstack == nil {
			t.Fatalf("%s: rows %v, %v, %v", v.name, schedule, newstack, ok)
		}
		regs := frames.Regs{Arch: tab.img.Arch}
		if cfa, ok := newstack.CFAExpr.Eval(&regs, words{}, 0); ok {
			t.Errorf("%s: CFA %#x of a thread whose goroutine is not known", v.name, cfa)
		}
		byChance := frames.Regs{Arch: tab.img.Arch}
		byChance.Set(c.GReg, 0) // as saved by the vDSO, of code that uses the register otherwise
		if cfa, ok := newstack.CFAExpr.Eval(&byChance, words{}, 0); ok {
			t.Errorf("%s: CFA %#x of a thread with 0 in the register of g", v.name, cfa)
		}
		if schedule.Regs[c.GReg].Kind != frames.RuleValExpr {
			t.Fatalf("%s: g in the caller of schedule: %+v", v.name, schedule.Regs[c.GReg])
		}
		g, ok := schedule.Regs[c.GReg].Expr.Eval(&regs, words{}, 0)
		regs.Set(c.GReg, g)
		cfa, ok2 := newstack.CFAExpr.Eval(&regs, words{}, 0)
		pc, ok3 := newstack.RA.Expr.Eval(&regs, words{}, 0)
		if !ok || !ok2 || !ok3 || cfa != 0 || pc != 0 {
			t.Errorf("%s: morestack's caller is %#x at %#x, %v, %v, %v; want the root", v.name, pc, cfa, ok, ok2, ok3)
		}
	}
}

// callsIn returns the return addresses of a function's calls of another.
func callsIn(t *testing.T, tab *Table, function, target string) (list []uint64) {
	t.Helper()
	for _, entry := range tab.funcByName(function) {
		f, _ := tab.find(entry)
		for pc := entry; pc <= f.end; pc++ {
			if tab.called(pc) == target {
				list = append(list, pc)
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s does not call %s", function, target)
	}
	return list
}
