// SPDX-License-Identifier: Apache-2.0

package top

import (
	"prywalk/internal/base/incomplete"
	"prywalk/internal/show/view"
)

// completeCPU returns ok = false without CPU time.
func (snap *Snapshot) completeCPU() (c incomplete.Completeness, ok bool) {
	for i := range snap.Cells {
		if cell := &snap.Cells[i]; cell.v.CPU != 0 {
			view.AddStackTime(&c, cell.v.CPU, cell.stack, func(i int32) *view.Frame { return &snap.frames[i].Frame })
			ok = true
		}
	}
	return c, ok
}

func (snap *Snapshot) completeText() string {
	c, ok := snap.completeCPU()
	if !ok {
		return ""
	}
	return "cpu: " + c.Text("", view.Percent)
}

// whyIncomplete returns "" if few stacks are incomplete or have guessed frames.
func (snap *Snapshot) whyIncomplete() string {
	c, _ := snap.completeCPU()
	if e := c.MainReason(); e.Reason != "" {
		return e.Text("cpu", view.Percent)
	}
	return c.GuessedText("cpu", view.Percent)
}
