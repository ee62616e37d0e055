// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// execs reports that a process has called exec, once, as [handover.Execed].
//
// The address space is new only after the other threads have ended (package sampler, doc.go), and files of the first
// thread go on with the clocks of the calling task. So while only the first thread is left, the end of the others is
// not reported before [process.mayBeInExec] excludes an exec, and what was read of the first thread is not used
// ([process.isSettled]).
type execs struct {
	out          *handover.Outbox
	opts         *Options
	stops        *stops
	tracked      *tracked
	endedThreads *endedThreads
	newChildren  *newChildren
}

type execState struct {
	addressSpace uint64
	aloneSince   uint64 // 1 + CPU time of the first thread when found alone, ns; 0: not alone

	// first listing without threads or of an ended address space, CLOCK_MONOTONIC ns; 0: the last had threads and a live
	// address space
	changingSince int64
}

func (s *execState) begin(p *process) { s.addressSpace = p.Target.Memory().Space() }

// detect finds an exec. The account of the thread that called it goes on.
func (e *execs) detect(p *process, now int64) {
	space := p.Target.Memory().Renew(p.Target.PID)
	if space == p.execState.addressSpace {
		return
	}
	p.execState.addressSpace = space
	e.newChildren.noteExec(p)
	caller := p.execCaller()
	if caller != nil && caller.isFirst() {
		e.tracked.reportUnchanged(caller)
	}
	e.endOthers(p, caller)
	p.list.forgetAllRejected()
	p.list.hintChange()
	e.out.Add(e.handOverAccount(p, caller, now))
}

// endOthers also ends the former first thread.
func (e *execs) endOthers(p *process, caller *thread) {
	for _, th := range p.list.all() {
		if th == caller || th.Backoff.Gone { // its files would be opened again
			continue
		}
		if th.isFirst() || !th.alive() {
			e.endThread(th)
		}
	}
}

// handOverAccount returns the event of the exec. caller may be nil; the new first thread is perhaps not selected.
func (e *execs) handOverAccount(p *process, caller *thread, now int64) handover.Event {
	event := handover.Event{Kind: handover.Execed, Proc: p.Handover, At: now}
	if caller != nil && caller.isFirst() {
		event.Thread = caller.Handover
		return event
	}
	first := e.tracked.discover(p, p.Target.PID, now)
	switch {
	case caller == nil:
		e.beginAccount(first, now)
	case first == nil:
		e.endThread(caller)
	default:
		e.passAccountOn(caller, first)
		event.OtherCaller = caller.Handover
	}
	if first != nil {
		event.Thread = first.Handover
	}
	return event
}

// execCaller returns the thread whose clocks go on as the first one's, or nil. Of several possible ones it assumes the
// one with most CPU time: then no time is counted twice, and the difference is that of ended threads
// ([attribute.ProcessEnd]).
func (p *process) execCaller() (caller *thread) {
	first := p.firstThread()
	clocks, err := p.schedStat(first, p.Target.PID)
	if err != nil {
		return nil
	}
	for _, th := range p.list.all() {
		last := &th.accountedClocks
		older := last.CPU <= clocks.CPU && last.RunQueue <= clocks.RunQueue && last.Runs <= clocks.Runs
		mostCPU := caller == nil || last.CPU > caller.accountedClocks.CPU
		if older && mostCPU && !th.Backoff.Gone && (th == first || !th.alive()) {
			caller = th
		}
	}
	return caller
}

func (e *execs) endThread(th *thread) {
	e.stops.cancel(th.Observed)
	e.tracked.endThread(th)
}

func (e *execs) passAccountOn(caller, first *thread) {
	e.stops.cancel(caller.Observed)
	e.tracked.reportUnchanged(caller)
	first.FromZero, first.end.AtStart = false, caller.end.AtStart
	first.Handover.CreatedAt = caller.Handover.CreatedAt
	e.tracked.dropThread(caller, true)
}

// beginAccount begins that of first, which may be nil. The caller of exec was not selected by its name: its CPU time so
// far is not attributed.
func (e *execs) beginAccount(first *thread, now int64) {
	if first != nil && e.opts.Threads != nil {
		first.FromZero, first.Handover.CreatedAt = false, 0
		e.endedThreads.readThreadAtStart(first, now)
	}
}

func (p *process) runsTrackedProgram() bool {
	memory := p.Target.Memory()
	return memory.Space() == p.execState.addressSpace && !memory.Ended()
}

// isSettled reports whether no exec by a thread other than the first is in progress. What was just read of the first
// thread is then of the tracked thread, and a thread that was just missing has ended.
func (p *process) isSettled() bool {
	if p.list.len() <= 1 {
		return true
	}
	n, err := p.TaskDir.Count()
	return err == nil && n > 1 && p.runsTrackedProgram()
}

// mayBeInExec reports whether a listing of a live process may have been read during an exec that is not found yet:
//
//	no thread                       the calling task is getting the first thread's number
//	the address space has ended     the new one is not open yet
//	only the first thread is left   it may be about to replace the address space
func (p *process) mayBeInExec(tids []int, now int64) bool {
	state := &p.execState
	if p.list.len() <= 1 {
		state.changingSince, state.aloneSince = 0, 0
		return false
	}
	if len(tids) == 0 || !p.runsTrackedProgram() {
		return p.mayBeChangingProgram(now)
	}
	state.changingSince = 0
	if onlyFirst := len(tids) == 1 && tids[0] == p.Target.PID; !onlyFirst || !p.list.knowsStart() {
		state.aloneSince = 0
		return false
	}
	return p.firstThreadMayExec()
}

// mayBeChangingProgram reports whether an exec may still be in progress, for longestChange at most: a new program that
// prywalk is not permitted to read never shows.
func (p *process) mayBeChangingProgram(now int64) bool {
	state := &p.execState
	if state.changingSince == 0 {
		state.changingSince = now
	}
	if now-state.changingSince >= longestChange {
		return false
	}
	p.list.hintChange()
	return true
}

// firstThreadMayExec reports whether the first thread, alone, may be about to replace the address space: it was just
// found alone, or does not sleep and has not used longestExec of CPU time since.
func (p *process) firstThreadMayExec() bool {
	state := &p.execState
	p.list.hintChange()
	var st procmem.Stat
	clocks, err := p.schedStat(p.firstThread(), p.Target.PID)
	switch {
	case err != nil || procmem.ReadStat(p.Target.PID, &st) != nil:
		return false
	case state.aloneSince == 0:
		state.aloneSince = clocks.CPU + 1
		return true
	}
	return (st.State == 'R' || st.State == 'D') && clocks.CPU < state.aloneSince+longestExec
}

// CPU time between the end of the other threads and the new address space, ns: some 50 µs, and the error of a running
// thread's clock
const longestExec = 15e6

// wall time between the end of an address space and the opening of the next one, ns
const longestChange = 1e9
