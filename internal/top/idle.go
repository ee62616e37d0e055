// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/waits"
)

// Idle gives the rule by which all that the row's threads waited for is idleness, as dump and report mark it; "" if
// some of their time is another wait's or was not a wait, or if rules differ. Of thousands of rows few are shown, so
// that it is found for these only.
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

// fit is the row's marked name within so many columns: the rule is kept whole where there is room.
func (r *GroupRow) fit(columns int) string {
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

// leastBeforeRule is how many columns of a long name there must be for its rule to be kept whole.
const leastBeforeRule = 16

// Marked is the row's name, with the rule by which its threads are idle.
func (r *GroupRow) Marked() string {
	if rule := r.Idle(); rule != "" {
		return r.Name() + printable.Sprintf(" [idle: %s]", rule)
	}
	return r.Name()
}
