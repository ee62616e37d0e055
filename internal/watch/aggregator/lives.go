// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

func (a *Aggregator) beginProcess(p *processState, started *attribute.ProcessStarted) {
	p.process.Comm = p.process.Code.Comm
	p.innerPID = procmem.InnerTID(p.process.Code.PID)
	p.container = profile.LabelText(a.states.containers.Labels(p.process.Code.PID))
	started.ChildrenFromStart = a.opts.Launched != 0 && p.process.Parent == 0
	a.attribute(started)
}

func (a *Aggregator) beginThread(p *processState, th *target.Thread) {
	if th.Walk.Begun {
		return
	}
	th.Walk.Begun = true
	if p.innerPID != p.process.Code.PID { // the process is in a pid namespace of its own
		th.Walk.InnerTID = procmem.InnerTID(th.TID)
	}
	a.explainer.add(p, th)
}

// endThread ends a thread's account. Of ended threads only the process's first one still has a name in the kernel.
func (a *Aggregator) endThread(th *target.Thread, ended *attribute.ThreadEnded) {
	if ended.End.Alive {
		a.beginThread(a.states.process(th.Proc), th)
	}
	if th.Walk.Begun && !th.NamedByRuntime.Load() && (ended.End.Alive || th.IsFirst()) {
		renameByKernel(th)
	}
	a.attribute(ended)
	if ended.End.Alive {
		a.suspects.recordThread(th)
	}
	a.forgetThread(th)
}

func (a *Aggregator) forgetThread(th *target.Thread) {
	delete(a.states.threads, th.ID)
	a.states.process(th.Proc).waitState.forget(th)
}

func (a *Aggregator) endProcess(p *processState, ended *attribute.ProcessEnded) {
	if p.process.Ended {
		return
	}
	a.tasks.finish(p, monotonic.Moment(ended.At))
	p.process.Ended = true
	ended.Program = p.process.Comm
	a.attribute(ended)
	a.stacks.forgetModules(p, nil)
	a.closeProcess(p.process.Code)
}

// CloseAccounts attributes all that is open. It does not close processes whose end was not reported, as the tracer
// hangs.
func (a *Aggregator) CloseAccounts(now monotonic.Moment) {
	a.readNames()
	a.explainer.close()
	a.tasks.eachPoller((*taskPoller).addLast)
	a.attribution.Close(int64(now))
	clear(a.states.threads)
	clear(a.states.procs)
}

func (a *Aggregator) readNames() {
	for _, th := range a.states.threads {
		if th.Walk.Begun && !th.NamedByRuntime.Load() {
			renameByKernel(th)
		}
	}
}

// afterExec is the aggregator's side of an exec: the account of its caller goes on as the first thread's, and what was
// learned of the former program is dropped. th is the first thread, nil if the new program is not selected (--threads).
func (a *Aggregator) afterExec(p *processState, th *target.Thread, execed *target.Execed) {
	if th != nil {
		a.attribute(&execed.Execed)
		if caller := a.states.threads[execed.Caller]; caller != nil && execed.Caller != execed.Thread {
			a.forgetThread(caller)
		}
	}
	p.refresh(execed.At)
	a.states.renewProgram(p)
	if th != nil {
		th.Observed.Feedback().DiscardFormerProgram(p.process.FirstCopy(), p.process.FirstStackEnd())
		a.handleRename(a.states.thread(th), &attribute.Cut{Thread: th.ID})
	}
}

// handleRename attributes the time up to now under the old name.
func (a *Aggregator) handleRename(th *target.Thread, cut *attribute.Cut) {
	a.attribute(cut)
	th.Walk.NameReadAt = 0
	th.NamedByRuntime.Store(false)
	renameByKernel(th)
	th.Proc.Comm = cmp.Or(th.Proc.Code.LoadedProgram(), th.Walk.Name)
}

const sigChild = 1 << (17 - 1) // SIGCHLD in a signal set

type procFS struct{}

// State implements [attribute.ProcSource].
func (procFS) State(pid int) (attribute.ProcState, bool) {
	var s procmem.Stat
	if procmem.ReadStat(pid, &s) != nil {
		return attribute.ProcState{}, false
	}
	return attribute.ProcState{
		Start: s.StartTime, Parent: s.PPID, ChildrenCPU: int64(s.ChildUTime+s.ChildSTime) * procmem.ClockTick,
		Zombie: s.Ended(),
	}, true
}

// IgnoresChildren implements [attribute.ProcSource].
func (procFS) IgnoresChildren(pid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(pid, &s) == nil && s.SigIgn&sigChild != 0
}

// ExactChildrenCPU implements [attribute.ProcSource] for children of prywalk, by waitid with WNOWAIT.
func (procFS) ExactChildrenCPU(pid int) int64 {
	var both unix.Rusage
	if unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, &both) != nil {
		return 0
	}
	own, err := procmem.ProcessCPU(pid)
	if err != nil {
		return 0
	}
	return both.Utime.Nano() + both.Stime.Nano() - int64(own)
}
