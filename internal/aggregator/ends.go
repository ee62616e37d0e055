// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/internal/attribute"
	"prywalk/internal/target"
)

// endThread ends a thread's account. Of ended threads only the process's first one still has a name in the kernel.
func (a *Aggregator) endThread(th *target.Thread, ended *attribute.ThreadEnded) {
	if ended.End.Alive {
		a.beginThread(a.process(th.Proc), th)
	}
	if th.Walk.Begun && !th.NamedByRuntime.Load() && (ended.End.Alive || th.IsFirst()) {
		a.ownership.reading(func() { renameByKernel(th) })
	}
	a.attribute(ended)
	if ended.End.Alive {
		a.suspects.noteAlive(th)
	}
	a.forgetThread(th)
}

func (a *Aggregator) forgetThread(th *target.Thread) {
	delete(a.threads, th.ID)
	a.process(th.Proc).waitState.forget(th)
}

func (a *Aggregator) endProcess(p *processState, ended *attribute.ProcessEnded) {
	if p.Ended {
		return
	}
	a.tasks.finish(p, ended.At)
	p.Ended = true
	ended.Program = p.Comm
	a.attribute(ended)
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
		if th.Walk.Begun && !th.NamedByRuntime.Load() {
			renameByKernel(th)
		}
	}
}
