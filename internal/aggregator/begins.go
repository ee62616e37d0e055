// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
)

func (a *Aggregator) beginProcess(p *processState, started *attribute.ProcessStarted) {
	p.Comm = p.Target.Comm
	p.innerPID = procmem.InnerTID(p.Target.PID)
	started.ChildrenFromStart = a.opts.Launched && p.Parent == 0
	a.attribute(started)
}

func (a *Aggregator) beginThread(th *threadState) {
	if th.begun {
		return
	}
	th.begun = true
	if th.proc.innerPID != th.proc.Target.PID { // the process is in a pid namespace of its own
		th.innerTID = procmem.InnerTID(th.TID)
	}
	a.explainer.add(th)
}
