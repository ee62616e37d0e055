// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/internal/attribute"
	"prywalk/internal/handover"
)

// endThread ends a thread's account. Of a thread that has ended the kernel has no name, but of a process's first one.
func (a *Accountant) endThread(e *handover.Event) {
	th := a.thread(e.Thread)
	if e.End.Alive { // it may never have been observed
		a.open(th)
	}
	if th.open && !th.given && (e.End.Alive || th.TID == th.proc.Target.PID) { // nothing is read any more that can hang
		th.renameByKernel()
	}
	a.attribute(&attribute.TaskEnded{
		Process: th.proc.ID, Task: th.ID, BornAt: th.BornAt, Before: e.Before, Left: e.End.Left, End: e.End.End,
	})
	if e.End.Alive {
		a.suspects.note(th)
	}
	delete(a.threads, th.ID)
	th.proc.waits.forget(th)
}

// exec deals with a process whose first thread has changed its name: what was seen
// before is booked under the old one, and the mappings are read anew.
func (a *Accountant) exec(e *handover.Event) {
	th, p := a.thread(e.Thread), a.process(e.Proc)
	a.attribute(&attribute.Cut{Task: th.ID})
	th.named, th.given = 0, false
	th.renameByKernel()
	a.unwind.books.lend()
	p.refresh(e.At)
	a.unwind.books.back()
	p.Comm = th.name
	p.waits.execed()
}

// endProcess ends a process's account, and lets go of the process.
func (a *Accountant) endProcess(p *processAccount, end *attribute.ProcessEnd, now int64) {
	if p.Ended {
		return
	}
	p.Ended = true
	a.attribute(&attribute.ProcessEnded{Process: p.ID, Program: p.Comm, At: now, ProcessEnd: *end})
	a.unwind.forgetModules(p, nil)
	a.Close(p.Target)
}

// CloseAccounts books all that is open when the tracer has sent its last event: nothing, unless it broke down.
func (a *Accountant) CloseAccounts(now int64) {
	for _, th := range a.threads {
		if th.open && !th.given {
			th.renameByKernel()
		}
	}
	a.unwind.managed.close()
	if a.lockNames != nil {
		_ = a.lockNames.Close()
		a.lockNames = nil
	}
	a.times.Close(now)
	for _, p := range a.procs {
		a.endProcess(p, &attribute.ProcessEnd{}, now)
	}
	clear(a.threads)
	clear(a.procs)
}
