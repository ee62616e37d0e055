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
		wait, what, _ := strings.Cut(r.of.waits[c.wait], ": ")
		kind, _, _ := strings.Cut(what, " ")
		of := waits.Idle(wait, waits.Kind(kind), func(i int) (waits.Frame, bool) {
			if i >= len(c.stack) {
				return waits.Frame{}, false
			}
			f := &r.of.frames[c.stack[i]]
			return waits.Frame{Function: f.Name, Module: f.Module, File: f.File}, true
		})
		if of == "" || rule != "" && of != rule {
			return ""
		}
		rule = of
	}
	return rule
}

// fitName gives the marked name in so many columns; the rule is kept whole if there is room.
func (r *GroupRow) fitName(columns int) string {
	name, rule := printable.String(r.Name()), ""
	if at := r.Idle(); at != "" {
		rule = printable.Sprintf(" [idle: %s]", at)
	}
	left := columns - tabular.PrintedWidth(rule)
	if left < min(tabular.PrintedWidth(name), leastBeforeRule) {
		return tabular.ShortModule(name+rule, columns)
	}
	return tabular.ShortModule(name, left) + rule
}

// leastBeforeRule is the least number of columns before a whole rule.
const leastBeforeRule = 16

// Marked gives the row's name, with the rule by which its threads are idle.
func (r *GroupRow) Marked() string {
	if rule := r.Idle(); rule != "" {
		return r.Name() + printable.Sprintf(" [idle: %s]", rule)
	}
	return r.Name()
}
