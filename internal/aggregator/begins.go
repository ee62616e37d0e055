// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/target"
)

func (a *Aggregator) beginProcess(p *processState, started *attribute.ProcessStarted) {
	p.Comm = p.Target.Comm
	p.innerPID = procmem.InnerTID(p.Target.PID)
	p.container = profile.LabelText(a.containers.Labels(p.Target.PID))
	started.ChildrenFromStart = a.opts.Launched && p.Parent == 0
	a.attribute(started)
}

func (a *Aggregator) beginThread(p *processState, th *target.Thread) {
	if th.Walk.Begun {
		return
	}
	th.Walk.Begun = true
	if p.innerPID != p.Target.PID { // the process is in a pid namespace of its own
		th.Walk.InnerTID = procmem.InnerTID(th.TID)
	}
	a.explainer.add(p, th)
}
