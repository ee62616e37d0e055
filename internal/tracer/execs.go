// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
)

// execs reports that a process has called exec, once, as [handover.Execed].
//
// An exec ends all other threads, gives the calling task the number of the first thread, and only then replaces the
// address space (fs/exec.c, de_thread, exec_mmap), which is what shows it ([procmem.Memory.Renew]). Files of the first
// thread go on with the clocks of the calling task. So while the first thread is the only one left, until the others
// are known to have ended without an exec ([process.mayBeInExec]), their end is not reported, and what was read of the
// first thread is not used ([process.isSettled]).
type execs struct {
	*engine.SharedState
	opts        *Options
	stops       *stops
	tracked     *tracked
	ended       *endedThreads
	newChildren *newChildren
}

// execState is what a process is known to run.
type execState struct {
	addressSpace uint64 // number of the tracked program's ([procmem.Memory.Space])
	aloneSince   uint64 // 1 + CPU time of the first thread when it was found alone after others, ns; 0: it is not
}

// begin records the program that a process runs when it is tracked.
func (s *execState) begin(p *process) { s.addressSpace = p.Target.Memory().Space() }

// detect finds an exec since the last call: the other threads have then ended, and those of the new program are listed.
// The account of the thread that called exec goes on.
func (x *execs) detect(p *process, now int64) {
	space := p.Target.Memory().Renew(p.Target.PID)
	if space == p.execState.addressSpace {
		return
	}
	p.execState.addressSpace = space
	x.newChildren.noteExec(p)
	first, caller := p.firstThread(), p.execCaller()
	if first != nil && caller == first {
		x.tracked.reportUnchanged(first)
	}
	for _, th := range p.list.all() {
		if th != caller && !th.gone && (th == first || !th.alive()) {
			x.endThread(th)
		}
	}
	p.list.forgetAllRejected()
	p.list.hintChange()
	e := handover.Event{Kind: handover.Execed, Proc: p.Handover, At: now}
	if caller == nil || caller != first {
		first = x.tracked.discover(p, p.Target.PID, now)
		x.continueAs(caller, first, &e)
	}
	if first != nil {
		e.Thread = first.Handover
	}
	x.Out.Add(e)
}

// execCaller returns the thread whose clocks go on as those of the first one now, or nil: it was not tracked. Of
// several that are possible, it is assumed to be the one that has used most CPU time: then, if it is another, no time
// is counted twice, and the difference is that of ended threads ([attribute.ProcessEnd]).
func (p *process) execCaller() (found *thread) {
	first := p.firstThread()
	now, err := p.schedStat(first, p.Target.PID)
	if err != nil {
		return nil
	}
	for _, th := range p.list.all() {
		last := &th.accountedClocks
		possible := last.CPU <= now.CPU && last.RunQueue <= now.RunQueue && last.Runs <= now.Runs
		if possible && (found == nil || last.CPU > found.accountedClocks.CPU) && !th.gone && (th == first || !th.alive()) {
			found = th
		}
	}
	return found
}

// endThread ends a thread, and gives up its stop.
func (x *execs) endThread(th *thread) {
	x.stops.giveUp(th.Observed)
	x.tracked.endThread(th)
}

// continueAs makes first, unless nil, the successor of the thread that has called exec, nil if that was not tracked.
func (x *execs) continueAs(caller, first *thread, e *handover.Event) {
	switch {
	case caller == nil && first == nil:
	case first == nil:
		x.endThread(caller)
	case caller != nil:
		x.stops.giveUp(caller.Observed)
		x.tracked.reportUnchanged(caller)
		first.FromZero, first.end.AtStart = false, caller.end.AtStart
		first.Handover.CreatedAt = caller.Handover.CreatedAt
		x.tracked.dropThread(caller, true)
		e.Caller = caller.Handover
	case x.opts.Threads != nil: // the calling thread was not selected
		first.FromZero, first.Handover.CreatedAt = false, 0
		x.ended.readThreadAtStart(first, e.At)
	}
}

// runsTrackedProgram reports that the address space is still the one of the program that was tracked.
func (p *process) runsTrackedProgram() bool {
	memory := p.Target.Memory()
	return memory.Space() == p.execState.addressSpace && !memory.Ended()
}

// isSettled reports that no exec is in progress, or unknown: what was read of the first thread just before is of the
// thread that was tracked, and a thread that was missing just before has ended.
func (p *process) isSettled() bool {
	if p.list.len() <= 1 {
		return true
	}
	n, err := p.TaskDir.Count()
	return err == nil && n > 1 && p.runsTrackedProgram()
}

// mayBeInExec reports whether the first thread, which is alone now after others, may be the one of these that is about
// to replace the address space. It is not if it sleeps, or has used more CPU time than that takes.
func (p *process) mayBeInExec(tids []int) bool {
	list, state := &p.list, &p.execState
	if !list.begun() || list.len() <= 1 || len(tids) != 1 || tids[0] != p.Target.PID {
		state.aloneSince = 0
		return false
	}
	list.hintChange()
	var st procmem.Stat
	now, err := p.schedStat(p.firstThread(), p.Target.PID)
	switch {
	case err != nil || procmem.ReadStat(p.Target.PID, &st) != nil:
		return false
	case state.aloneSince == 0:
		state.aloneSince = now.CPU + 1
		return true
	}
	return (st.State == 'R' || st.State == 'D') && now.CPU < state.aloneSince+longestExec
}

// longestExec bounds the CPU time between the end of the other threads and the new address space, ns: some 50 µs, and
// the error of a running thread's clock.
const longestExec = 15e6
