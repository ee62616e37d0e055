// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// Last is what a thread's last observation has read. The zero value is of a new thread.
type Last struct {
	nodes       *nodeCache
	ranges      *rangeCache
	foundAnchor frames.Addr // or 0
}

// CheckPresent checks before a copy which of the last ranges and nodes are present; nothing if anchor is 0.
func (l *Last) CheckPresent(m *procmem.Memory, plan *managed.Plan, anchor frames.Addr) {
	if anchor == 0 || len(plan.Steps) == 0 {
		return
	}
	if l.ranges == nil {
		l.ranges = &rangeCache{}
	}
	l.ranges.checkPresent(m)
	l.CheckNodes(m, plan)
}

// CheckNodes checks before a copy which nodes of the last list are present.
func (l *Last) CheckNodes(m *procmem.Memory, plan *managed.Plan) {
	i := slices.IndexFunc(plan.Steps, func(s managed.Step) bool { return s.Op == managed.CopyList })
	if i < 0 {
		return
	}
	if l.nodes == nil {
		l.nodes = &nodeCache{}
	}
	l.nodes.checkPresent(m, uint64(plan.Steps[i].Size))
}
