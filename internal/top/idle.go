// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// idleRule returns "" if a part is not idle, or idle by another rule. Cells without time do not exist (addCell).
func (snap *Snapshot) idleRule(cells []int32) (rule string) {
	for _, i := range cells {
		cellRule := snap.ruleOf(&snap.Cells[i])
		if cellRule == "" || rule != "" && cellRule != rule {
			return ""
		}
		rule = cellRule
	}
	return rule
}

type idleKey struct {
	wait  int32
	stack *int32 // first function; nil: none
}

// ruleOf returns "" for a cell that is not idle.
func (snap *Snapshot) ruleOf(c *Cell) string {
	k := idleKey{wait: c.wait}
	if len(c.stack) > 0 {
		k.stack = &c.stack[0]
	}
	rule, known := snap.idleRules[k]
	if !known {
		w := &snap.waits[c.wait]
		call, _, _ := strings.Cut(w.name, ": ")
		stack := make([]waits.Frame, len(c.stack))
		for i, n := range c.stack {
			f := &snap.frames[n]
			stack[i] = waits.Frame{Function: f.Name, Module: f.mapping, File: f.ruleFile}
		}
		rule = waits.Idle(call, w.kind, stack)
		if snap.idleRules == nil {
			snap.idleRules = map[idleKey]string{}
		}
		snap.idleRules[k] = rule
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
	if r.Idle == "" {
		return ""
	}
	return printable.Sprintf(" [idle: %s]", r.Idle)
}
