// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// Idle gives the rule by which all time of the row is idle, as in dump and report; "" if some is not, or if rules
// differ.
func (r *GroupRow) Idle() (rule string) {
	for _, i := range r.cells {
		c := &r.of.Cells[i]
		if c.v == (Values{}) {
			continue
		}
		of := r.of.ruleOf(c)
		if of == "" || rule != "" && of != rule {
			return ""
		}
		rule = of
	}
	return rule
}

// idleKey is what an idle rule depends on.
type idleKey struct {
	wait  int32
	stack *int32 // its first function, nil for none
}

// ruleOf gives the rule by which a cell is idle, "" if none.
func (o *Snapshot) ruleOf(c *Cell) string {
	k := idleKey{wait: c.wait}
	if len(c.stack) > 0 {
		k.stack = &c.stack[0]
	}
	rule, known := o.idleRules[k]
	if !known {
		w := &o.waits[c.wait]
		call, _, _ := strings.Cut(w.name, ": ")
		rule = waits.Idle(call, w.kind, func(i int) (waits.Frame, bool) {
			if i >= len(c.stack) {
				return waits.Frame{}, false
			}
			f := &o.frames[c.stack[i]]
			return waits.Frame{Function: f.Name, Module: f.mapping, File: f.ruleFile}, true
		})
		if o.idleRules == nil {
			o.idleRules = map[idleKey]string{}
		}
		o.idleRules[k] = rule
	}
	return rule
}

// fitName gives a name with a mark in so many columns; the mark is kept whole if there is room.
func fitName(name, mark string, columns int) string {
	left := columns - tabular.PrintedWidth(mark)
	if left < min(tabular.PrintedWidth(name), leastBeforeMark) {
		return tabular.ShortModule(name+mark, columns)
	}
	return tabular.ShortModule(name, left) + mark
}

// leastBeforeMark is the least number of columns before a whole mark.
const leastBeforeMark = 16

// mark gives the rule by which the row's threads are idle, to be printed behind its name; "" if they are not.
func (r *GroupRow) mark() string {
	if rule := r.Idle(); rule != "" {
		return printable.Sprintf(" [idle: %s]", rule)
	}
	return ""
}
