// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
	"prywalk/internal/target"
)

func (a *Aggregator) beginProcess(p *processState) {
	p.Comm = p.Target.Comm
	p.innerPID = procmem.InnerTID(p.Target.PID)
	a.attribute(&attribute.ProcessStarted{
		Process: p.ID, PID: p.Target.PID, Start: p.Target.StartTime, Parent: p.Parent, Since: p.Since,
		FromStart: p.FromStart, ChildrenFromStart: a.opts.Launched && p.Parent == 0,
	})
}

func (a *Aggregator) beginThread(e *target.Event) {
	th := a.thread(e.Thread)
	a.beginThreadState(th)
	a.attribute(&attribute.ThreadStarted{Process: th.proc.ID, Thread: th.ID, CreatedAt: th.CreatedAt, Now: e.Reading})
}

func (a *Aggregator) beginThreadState(th *threadState) {
	if th.begun {
		return
	}
	th.begun = true
	if th.proc.innerPID != th.proc.Target.PID { // the process is in a pid namespace of its own
		th.innerTID = procmem.InnerTID(th.TID)
	}
	a.explainer.add(th)
}
