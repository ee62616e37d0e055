// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/internal/attribute"
	"prywalk/internal/target"
)

// endThread ends a thread's account. Of ended threads only the process's first one still has a name in the kernel.
func (a *Aggregator) endThread(e *target.Event) {
	th := a.thread(e.Thread)
	if e.ThreadEnd.Alive {
		a.beginThreadState(th)
	}
	if th.begun && !th.NamedByRuntime.Load() && (e.ThreadEnd.Alive || th.TID == th.proc.Target.PID) {
		a.ownership.reading(th.renameByKernel)
	}
	a.attribute(&attribute.ThreadEnded{
		Process: th.proc.ID, Thread: th.ID, CreatedAt: th.CreatedAt, UnchangedBefore: e.UnchangedBefore,
		NotStopped: e.ThreadEnd.NotStopped, End: e.ThreadEnd.End,
	})
	if e.ThreadEnd.Alive {
		a.suspects.noteAlive(th)
	}
	a.forgetThread(th)
}

func (a *Aggregator) forgetThread(th *threadState) {
	delete(a.threads, th.ID)
	th.proc.waitState.forget(th)
}

func (a *Aggregator) endProcess(p *processState, end *attribute.ProcessEnd, now int64) {
	if p.Ended {
		return
	}
	a.tasks.finish(p, now)
	p.Ended = true
	a.attribute(&attribute.ProcessEnded{Process: p.ID, Program: p.Comm, At: now, ProcessEnd: *end})
	a.stacks.forgetModules(p, nil)
	if !a.ownership.isTakenOver() {
		a.opts.CloseProcess(p.Target)
	}
}

// CloseAccounts attributes all that is open. It does not close processes whose end was not reported, as the tracer
// hangs. After a takeover it reads no target, and closes nothing that the hanging goroutine uses.
func (a *Aggregator) CloseAccounts(now int64) {
	if !a.ownership.isTakenOver() {
		a.ownership.reading(a.readNames)
		a.stacks.managedWalk.close()
		a.explainer.close()
	}
	a.tasks.eachPoller((*taskPoller).addLast)
	a.attribution.Close(now)
	clear(a.threads)
	clear(a.procs)
}

func (a *Aggregator) readNames() {
	for _, th := range a.threads {
		if th.begun && !th.NamedByRuntime.Load() {
			th.renameByKernel()
		}
	}
}
