// SPDX-License-Identifier: Apache-2.0

package top

import (
	"prywalk/internal/namehints"
	"prywalk/internal/view"
)

// completeCPU: ok is false without CPU time.
func (o *Snapshot) completeCPU(scope Scope) (c namehints.Completeness, ok bool) {
	for i := range o.Cells {
		if cell := &o.Cells[i]; cell.v.CPU != 0 && o.in(scope, cell) {
			view.AddStackTime(&c, cell.v.CPU, cell.stack, func(i int32) *view.Frame { return &o.frames[i].Frame })
			ok = true
		}
	}
	return c, ok
}

// completeText is "" without CPU time.
func (o *Snapshot) completeText(scope Scope) string {
	c, ok := o.completeCPU(scope)
	if !ok {
		return ""
	}
	return "cpu: " + c.Text("", view.Percent)
}

// whyIncomplete is the main reason and its cure, "" if few stacks are incomplete.
func (o *Snapshot) whyIncomplete(scope Scope) string {
	c, _ := o.completeCPU(scope)
	e := c.MainReason()
	return e.Text("cpu", view.Percent)
}
