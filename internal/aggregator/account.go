// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/handover"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/selfruntime"
)

type processAccount struct {
	*handover.SharedProcess
	innerPID int // in its own pid namespace; 0: the same
	// addressSpace is that of the program for which the rest was made ([loadedcode.Process.AddressSpace]).
	addressSpace uint64
	// modules describe walked modules; remapped: some may be unmapped.
	modules  map[*frames.Module]*profile.ModuleInfo
	remapped bool
	managed  managedNames
	walked   samplesWalked
	programs programs
	program  *program // nil: file unknown

	// untrackedThreads takes samples of untracked threads; nil before the first.
	untrackedThreads *threadAccount

	refreshBudget refreshBudget

	tasks taskPollers
	waits *waitState // nil before the first thread
}

type accounts struct {
	threads  map[sample.ThreadID]*threadAccount
	procs    map[sample.ProcessID]*processAccount
	programs programs
}

func newAccounts() *accounts {
	return &accounts{map[sample.ThreadID]*threadAccount{}, map[sample.ProcessID]*processAccount{}, programs{}}
}

func (a *accounts) process(p *handover.SharedProcess) *processAccount {
	if known := a.procs[p.ID]; known != nil {
		return known
	}
	made := &processAccount{SharedProcess: p, addressSpace: p.Target.AddressSpace(), programs: a.programs}
	made.program = a.programs.stateOf(p.Target)
	if !p.Ended { // else only the name is requested
		a.procs[p.ID] = made
	}
	return made
}

// refresh reads the mappings and run-time code again, and reports a change. now is CLOCK_MONOTONIC ns.
func (p *processAccount) refresh(now int64) bool {
	var changed bool
	var err error
	before := p.Target.CodeMappings()
	cost := selfruntime.CPUTimeOf(func() { changed, err = p.Target.Refresh() })
	p.refreshBudget.noteRefresh(now, int64(cost), p.Target.CodeMappings() > before)
	if err != nil || !changed {
		return false
	}
	p.remapped = true
	p.MappingsChanged()
	if space := p.Target.AddressSpace(); space != p.addressSpace {
		p.addressSpace = space
		p.programChanged()
	}
	return true
}

// programChanged renews, after an exec, all that is known of the former program. Precondition: the mappings were read
// again.
func (p *processAccount) programChanged() {
	p.Comm = p.Target.Comm
	p.ProgramChanged()
	p.walked = samplesWalked{}
	if p.program = p.programs.stateOf(p.Target); p.program != nil {
		p.program.applyTo(p.SharedProcess)
	}
	p.waits.afterExec()
}

// prepareWalk sets the run-time systems' code to that at the copy's moment, CLOCK_MONOTONIC ns.
func (p *processAccount) prepareWalk(moment int64) {
	if !p.Target.Runtimes().HasCodeHistory() {
		return
	}
	changed, mayRead := false, p.refreshBudget.mayQuery(moment)
	cost := selfruntime.CPUTimeOf(func() { changed = p.Target.SetCodeTime(moment, mayRead) })
	p.refreshBudget.addQueries(int64(cost))
	if changed {
		p.CodeChanged(moment)
	}
}

// addMappingAt reads the mapping at pc if it is newer than the list; true: another walk may give another stack.
func (p *processAccount) addMappingAt(pc frames.Addr, moment int64) (found bool) {
	if pc == 0 || !p.refreshBudget.mayQuery(moment) {
		return false
	}
	cost := selfruntime.CPUTimeOf(func() { found = p.Target.AddMappingAt(pc) })
	p.refreshBudget.addQueries(int64(cost))
	if found {
		p.remapped = true
		p.MappingsChanged()
		p.CodeChanged(moment)
	}
	return found
}

type threadAccount struct {
	*handover.SharedThread
	proc  *processAccount
	begun bool

	name           string
	innerTID       int   // in its own pid namespace; TID before beginAccount
	nameReadAt     int64 // CLOCK_MONOTONIC ns
	namedByRuntime bool
	role           string // "": unknown

	file lastFile
	lock lastLock
}

func (a *accounts) thread(th *handover.SharedThread) *threadAccount {
	if known := a.threads[th.ID]; known != nil {
		return known
	}
	made := &threadAccount{
		SharedThread: th, proc: a.process(th.Proc), name: th.Name, nameReadAt: th.Found, innerTID: th.TID,
	}
	a.threads[th.ID] = made
	return made
}

func (p *processAccount) untrackedAccount() *threadAccount {
	if p.untrackedThreads == nil {
		p.untrackedThreads = &threadAccount{
			SharedThread: &handover.SharedThread{
				Proc: p.SharedProcess, TID: p.Target.PID, Feedback: observe.NewThread(p.Target.PID, p.Target.PID, nil).Feedback(),
			},
			proc: p, innerTID: cmp.Or(p.innerPID, p.Target.PID),
		}
	}
	return p.untrackedThreads
}

// rename reads the thread's name every [handover.NameEvery]: from a run-time system, else from the kernel. A name that
// a run-time system no longer has stays for one more period, as a thread leaves its list before it ends. Until a
// run-time system has a new thread's name, it is read at each sample.
func (th *threadAccount) rename(now int64) {
	sources := th.proc.Target.Runtimes().FrameSources()
	due := now-th.nameReadAt >= handover.NameEvery
	if !due && (th.namedByRuntime || len(sources) == 0 || now-th.Found >= handover.NameEvery) {
		return
	}
	name, ok := callstack.ThreadName(sources, th.innerTID)
	defer th.assumeRole(sources)
	if !due && !ok {
		return
	}
	th.nameReadAt = now
	switch {
	case ok:
		th.name, th.namedByRuntime = name, true
		th.Named.Store(true)
	case th.namedByRuntime:
		th.namedByRuntime = false
	default:
		th.renameByKernel()
	}
}

func (th *threadAccount) assumeRole(sources []managed.FrameSource) {
	th.role = callstack.Role(sources, th.innerTID, th.name)
}

func (th *threadAccount) renameByKernel() {
	if name := th.proc.Target.ThreadName(th.TID); name != "" {
		th.name = name
	}
}
