// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/internal/attribute"
	"prywalk/internal/target"
)

// handleExec ends what is known of a former program. Perhaps no thread of the new one is selected.
func (a *Aggregator) handleExec(e *target.Event, execed *target.Execed) {
	p := a.process(e.Proc)
	if e.Thread != nil {
		a.attribute(&execed.Execed)
		if caller := a.threads[execed.Caller]; caller != nil && execed.Caller != execed.Thread {
			a.forgetThread(caller)
		}
	}
	a.ownership.reading(func() { p.refresh(execed.At) })
	if e.Thread != nil {
		e.Thread.Observed.Feedback().DiscardFormerProgram(p.FirstCopy(), p.FirstStackEnd())
		a.handleRename(a.thread(e.Thread), &attribute.Cut{Thread: e.Thread.ID})
	}
}

// handleRename attributes the time up to now under the old name.
func (a *Aggregator) handleRename(th *target.Thread, cut *attribute.Cut) {
	a.attribute(cut)
	th.Walk.NameReadAt = 0
	th.NamedByRuntime.Store(false)
	a.ownership.reading(func() { renameByKernel(th) })
	th.Proc.Comm = cmp.Or(th.Proc.Target.LoadedProgram(), th.Walk.Name)
}
