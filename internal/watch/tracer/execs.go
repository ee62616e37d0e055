// SPDX-License-Identifier: Apache-2.0

package tracer

import "prywalk/internal/watch/target"

// execs reports that a process has called exec, once, as [target.Execed].
//
// The address space is new only after the other threads have ended (package sampler, doc.go), and files of the first
// thread go on with the clocks of the calling task. So while only the first thread is left, the end of the others is
// not reported before [target.Process.MayBeInExec] excludes an exec, and what was read of the first thread is not used
// ([target.Process.IsSettled]).
type execs struct {
	out          *target.Outbox
	opts         *Options
	results      *results
	stops        *stops
	tracked      *tracked
	endedThreads *endedThreads
}

// detect finds an exec. The account of the thread that called it goes on.
func (e *execs) detect(p *target.Process, now int64) {
	if !p.TakeExec() {
		return
	}
	caller := p.ExecCaller()
	if caller != nil && caller.IsFirst() {
		e.results.reportUnchanged(caller)
	}
	e.endOthers(p, caller)
	p.Threads.ForgetAllRejected()
	p.Threads.HintChange()
	e.out.Add(e.handOverAccount(p, caller, now))
}

// endOthers ends all threads of the former program but caller: those that no longer exist, and the first thread, whose
// number caller has now.
func (e *execs) endOthers(p *target.Process, caller *target.Thread) {
	for _, th := range p.Threads.All() {
		if th == caller || th.Gone { // its files would be opened again
			continue
		}
		if th.IsFirst() || !th.Exists() {
			e.endThread(th)
		}
	}
}

// handOverAccount returns the event of the exec. caller may be nil; the new first thread is perhaps not selected.
func (e *execs) handOverAccount(p *target.Process, caller *target.Thread, now int64) target.Event {
	first := caller
	if caller == nil || !caller.IsFirst() {
		first = e.tracked.discover(p, p.Target.PID, now)
	}
	execed := &target.Execed{At: now}
	execed.Process = p.ID
	switch {
	case caller == nil:
		e.beginAccount(first, now)
	case first == nil:
		e.endThread(caller)
	case first != caller:
		e.passAccountOn(caller, first)
	}
	if first != nil {
		execed.Thread, execed.Caller = first.ID, first.ID
		if caller != nil {
			execed.Caller = caller.ID
		}
	}
	return target.Event{Proc: p, Thread: first, What: execed}
}

func (e *execs) endThread(th *target.Thread) {
	e.stops.cancel(th.Observed)
	e.results.endThread(th)
}

func (e *execs) passAccountOn(caller, first *target.Thread) {
	e.stops.cancel(caller.Observed)
	e.results.reportUnchanged(caller)
	first.FromZero, first.End.AtStart = false, caller.End.AtStart
	first.CreatedAt = caller.CreatedAt
	e.results.dropThread(caller, true)
}

// beginAccount begins that of first, which may be nil. The caller of exec was not selected by its name: its CPU time so
// far is not attributed.
func (e *execs) beginAccount(first *target.Thread, now int64) {
	if first != nil && e.opts.Threads != nil {
		first.FromZero, first.CreatedAt = false, 0
		e.endedThreads.readThreadAtStart(first, now)
	}
}
