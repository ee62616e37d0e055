// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

type execs struct {
	out          *target.Outbox
	opts         *target.SamplingOptions
	results      *results
	stops        *stops
	endedThreads *endedThreads
	tracked      *tracked
}

// follow is the tracer's side of an exec: it ends the threads of the former program, passes the caller's account on to
// the first thread, and reports [target.Execed], once.
func (e *execs) follow(p *target.Process, now ptrace.Moment) {
	caller, found := p.FindExec()
	if !found {
		return
	}
	for _, th := range p.Threads.All() {
		// Exists would open files of a gone thread again. The first thread exists, but it is the caller.
		if th != caller && !th.Gone && (th.IsFirst() || !th.Exists()) {
			e.endThread(th)
		}
	}
	p.Threads.ForgetAllRejected()
	p.Threads.HintChange()
	first := caller
	if caller == nil || !caller.IsFirst() {
		if caller != nil {
			e.stops.cancel(caller.Observed)
		}
		first = e.tracked.discover(p, p.Code.PID, now) // nil if it is not selected
	}
	execed := &target.Execed{At: now}
	execed.Process = p.ID
	switch {
	case first != nil && caller != nil:
		execed.Thread, execed.Caller = first.ID, caller.ID
		e.results.reportUnchanged(caller)
		if first != caller {
			first.FromZero, first.CreatedAt, first.End.AtStart = false, caller.CreatedAt, caller.End.AtStart
			e.results.dropThread(caller, true)
		}
	case first != nil:
		execed.Thread, execed.Caller = first.ID, first.ID
		if e.opts.Threads != nil { // the caller was not selected: its CPU time so far is not attributed
			first.FromZero, first.CreatedAt = false, 0
			e.endedThreads.readThreadAtStart(first, now)
		}
	case caller != nil: // the new program is not selected
		e.endThread(caller)
	}
	e.out.Add(target.Event{Proc: p, Thread: first, What: execed})
}

func (e *execs) endThread(th *target.Thread) {
	e.stops.cancel(th.Observed)
	e.results.endThread(th)
}
