// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/internal/attribute"
	"prywalk/internal/target"
)

// handleExec ends what is known of a former program. Perhaps no thread of the new one is selected: e.Thread is nil.
func (a *Aggregator) handleExec(e *target.Event) {
	p := a.process(e.Proc)
	if e.Thread != nil {
		exec := attribute.Execed{Process: p.ID, Thread: e.Thread.ID, Caller: e.Thread.ID}
		if e.OtherCaller != nil {
			exec.Caller = e.OtherCaller.ID
		}
		a.attribute(&exec)
	}
	if e.OtherCaller != nil {
		a.forgetThread(a.thread(e.OtherCaller))
	}
	a.ownership.reading(func() { p.refresh(e.At) })
	if e.Thread != nil {
		e.Thread.Feedback.DiscardFormerProgram(p.FirstCopy(), p.FirstStackEnd())
		a.handleRename(e)
	}
}

// handleRename attributes the time up to now under the old name.
func (a *Aggregator) handleRename(e *target.Event) {
	th, p := a.thread(e.Thread), a.process(e.Proc)
	a.attribute(&attribute.Cut{Thread: th.ID})
	th.nameReadAt = 0
	th.NamedByRuntime.Store(false)
	a.ownership.reading(th.renameByKernel)
	p.Comm = cmp.Or(p.Target.LoadedProgram(), th.name)
}
