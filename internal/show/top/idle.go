// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/walk/waits"
)

// idleness is zero if a part is not idle, or idle by another rule. Cells without time do not exist (addCell).
func (snap *Snapshot) idleness(cells []*Cell) (idle waits.Idleness) {
	for n, c := range cells {
		of := snap.ruleOf(c).Idleness
		if n > 0 && of != idle {
			return waits.Idleness{}
		}
		idle = of
	}
	return idle
}

type idleKey struct {
	wait  int32
	stack *int32 // first function; nil: none
}

func (snap *Snapshot) ruleOf(c *Cell) waits.StackRule {
	k := idleKey{wait: c.wait}
	if len(c.stack) > 0 {
		k.stack = &c.stack[0]
	}
	rule, known := snap.rules[k]
	if !known {
		w := &snap.waits[c.wait]
		call, _, _ := strings.Cut(w.name, ": ")
		stack := make([]waits.Frame, len(c.stack))
		for i, n := range c.stack {
			f := &snap.frames[n]
			stack[i] = waits.Frame{Function: f.Name, Module: f.mapping, File: f.ruleFile}
		}
		rule = waits.StackRuleOf(call, w.kind, stack)
		if snap.rules == nil {
			snap.rules = map[idleKey]waits.StackRule{}
		}
		snap.rules[k] = rule
	}
	return rule
}

// fitName keeps the mark whole if there is room.
func fitName(name, mark string, columns int) string {
	left := columns - tabular.PrintedWidth(mark)
	if left < min(tabular.PrintedWidth(name), minColumnsBeforeMark) {
		return tabular.Cut(name+mark, columns)
	}
	return tabular.Cut(name, left) + mark
}

const minColumnsBeforeMark = 16

// mark follows the name; "": not idle.
func (r *GroupRow) mark() string {
	if mark := r.Mark(); mark != "" {
		return " " + printable.Line(mark)
	}
	return ""
}
