// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"math"

	"prywalk/internal/namehints"
)

type complete struct {
	share  float64 // 0 to 1, negative without CPU time
	reason string
	module string
}

// wellComplete is the share from which no reason is shown.
const wellComplete = 0.99

func (o *Snapshot) completeCPU(scope Scope) complete {
	var all, cut, most int64
	out := complete{share: -1}
	reasons := map[string]int64{}
	for i := range o.Cells {
		c := &o.Cells[i]
		if c.v.CPU == 0 || !o.in(scope, c) {
			continue
		}
		all += c.v.CPU
		if len(c.stack) == 0 {
			continue
		}
		f := &o.frames[c.stack[len(c.stack)-1]]
		reason, ok := namehints.IncompleteReason(f.Name)
		if !ok || !f.Synthetic() {
			continue
		}
		cut += c.v.CPU
		if reasons[reason] += c.v.CPU; reasons[reason] > most {
			most, out.reason, out.module = reasons[reason], reason, ""
			if len(c.stack) > 1 {
				out.module = o.frames[c.stack[len(c.stack)-2]].Module
			}
		}
	}
	if all > 0 {
		out.share = 1 - float64(cut)/float64(all)
	}
	return out
}

// String returns the share, "" without CPU time. It never rounds up to 100 %.
func (c complete) String() string {
	if c.share < 0 {
		return ""
	}
	text := fmt.Sprintf("cpu: %.1f%% complete stacks", math.Floor(c.share*1000)/10)
	if c.share < wellComplete {
		text += ", rest mostly " + c.reason
	}
	return text
}

func (c complete) cure() string {
	if c.share < 0 || c.share >= wellComplete {
		return ""
	}
	return namehints.IncompleteName(c.reason) + ": " + namehints.IncompleteCure(c.reason, c.module)
}
