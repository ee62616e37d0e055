// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/ownruntime"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// processAccount is what the accountant knows of one process.
type processAccount struct {
	*handover.Process
	nsPID int // its number in its own pid namespace, 0 if it is the same
	main  *frames.Module
	// modules are the recording's descriptions of the modules that were walked; remapped: some may have gone.
	modules  map[*frames.Module]*profile.ModuleInfo
	remapped bool
	managed  managedNames
	walked   samplesWalked
	programs programs
	program  *program // nil: its file is not known

	// strangers is for samples of threads that nobody met.
	strangers *threadAccount

	refreshes refreshes

	waits *waiting // nil until its first thread's account begins
}

// process gives the account of a process, and makes it for the first event of one.
func (a *Accountant) process(p *handover.Process) *processAccount {
	if known := a.procs[p.ID]; known != nil {
		return known
	}
	made := &processAccount{Process: p, main: p.Target.Main(), programs: a.programs}
	made.program = a.programs.of(p.Target)
	if !p.Ended { // else it is asked for the name alone
		a.procs[p.ID] = made
	}
	return made
}

// refresh reads the mappings anew, and the code that was made at run time; true if either
// changed. When the program is another, what is copied with its stacks is found anew.
func (p *processAccount) refresh(now int64) bool {
	var changed bool
	var err error
	before := p.Target.CodeMappings()
	cost := ownruntime.CPUOf(func() { changed, err = p.Target.Refresh() })
	p.refreshes.done(now, int64(cost), p.Target.CodeMappings() > before)
	if err != nil || !changed {
		return false
	}
	p.remapped = true
	p.NewMappings()
	if m := p.Target.Main(); m != p.main {
		if p.Target.Comm != "" { // else the name that it has been given since stays
			p.Comm = p.Target.Comm
		}
		p.NewProgram()
		p.walked = samplesWalked{}
		if p.program = p.programs.of(p.Target); p.program != nil {
			p.program.tell(p.Process)
		}
		p.main = m
	}
	return true
}

// at prepares for the walk of a copy that was made at a moment.
func (p *processAccount) at(moment int64) {
	if !p.Target.Dated() {
		return
	}
	changed, ask := false, p.refreshes.mayAsk(moment)
	cost := ownruntime.CPUOf(func() { changed = p.Target.At(moment, ask) })
	if p.refreshes.hasAsked(int64(cost)); changed {
		p.CodeMoves(moment)
	}
}

// meet takes on code that is newer than the list of mappings; true if a walk may now give another stack.
func (p *processAccount) meet(pc frames.Addr, moment int64) (met bool) {
	if pc == 0 || !p.refreshes.mayAsk(moment) {
		return false
	}
	cost := ownruntime.CPUOf(func() { met = p.Target.Meet(pc) })
	if p.refreshes.hasAsked(int64(cost)); met {
		p.remapped = true
		p.NewMappings()
		p.CodeMoves(moment)
	}
	return met
}

// threadAccount is what the accountant knows of one thread.
type threadAccount struct {
	*handover.Thread
	proc *processAccount
	open bool // a sample of it came, or it was found running

	name  string
	nsTID int    // its number in its own pid namespace, 0 if it is the same
	named int64  // when the name was read
	given bool   // by a run-time system, when it was asked last
	role  string // what it is there for, "" if no run-time system tells

	file    lastFile       // that it was last seen to wait for
	lock    lastLock       // the same
	sleptIn sample.StackID // more by one, in which it was last peeked at; 0: it was not
}

// thread gives the account of a thread, and makes it for the first event of one.
func (a *Accountant) thread(th *handover.Thread) *threadAccount {
	if known := a.threads[th.ID]; known != nil {
		return known
	}
	made := &threadAccount{Thread: th, proc: a.process(th.Proc), name: th.Name, named: th.Met}
	a.threads[th.ID] = made
	return made
}

// stranger gives the account that stands for threads of the process which nobody met.
func (p *processAccount) stranger() *threadAccount {
	if p.strangers == nil {
		p.strangers = &threadAccount{
			Thread: &handover.Thread{
				Proc: p.Process, TID: p.Target.PID, Walks: look.NewThread(p.Target.PID, p.Target.PID, nil).Walks(),
			},
			proc: p,
		}
	}
	return p.strangers
}

// rename reads the thread's name anew from time to time: the program's own, where a run-time system knows it, else the
// kernel's. A thread leaves a run-time system's list before it ends, so that the name stays for one question more. Of
// one that was just met the program's own is asked for until it is told: else it would have two names in the recording.
func (th *threadAccount) rename(now int64) {
	namers := th.proc.Target.Namers()
	due := now-th.named >= handover.NameEvery
	if !due && (th.given || len(namers) == 0 || now-th.Met >= handover.NameEvery) {
		return
	}
	name, ok := callstack.ThreadName(namers, th.innerTID())
	defer th.assume(namers)
	if !due && !ok {
		return
	}
	th.named = now
	switch {
	case ok:
		th.name, th.given = name, true
		th.Named.Store(true)
	case th.given:
		th.given = false
	default:
		th.renameByKernel()
	}
}

// assume asks what the thread is there for.
func (th *threadAccount) assume(namers []managed.Namer) {
	th.role = callstack.Role(namers, th.innerTID(), th.name)
}

// renameByKernel reads the name that the kernel has for the thread.
func (th *threadAccount) renameByKernel() {
	if name := th.proc.Target.ThreadName(th.TID); name != "" {
		th.name = name
	}
}
