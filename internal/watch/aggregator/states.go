// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"time"

	"prywalk/frames"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/container"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

type processState struct {
	process      *target.Process
	innerPID     int    // in its own pid namespace
	container    string // as [profile.Interval]'s
	modules      moduleInfos
	remapped     bool // some modules are perhaps unmapped
	managedNames managedNames
	walked       samplesWalked
	history      *programHistory

	untrackedThreads *target.Thread

	refreshBudget refreshBudget

	tasks     taskPollers
	waitState *waitState
	named     map[string]string // what describes a file with its other end, found later, by the description without it

	goroutineStacks map[frames.Addr]string // their labels
}

type states struct {
	threads   map[sample.ThreadID]*target.Thread
	procs     map[sample.ProcessID]*processState
	histories programHistories

	containers container.Names
}

func newStates() *states {
	return &states{threads: map[sample.ThreadID]*target.Thread{}, procs: map[sample.ProcessID]*processState{},
		histories: programHistories{}}
}

func (s *states) process(p *target.Process) *processState {
	if known := s.procs[p.ID]; known != nil {
		return known
	}
	made := &processState{
		process: p, innerPID: p.Code.PID, history: s.histories.historyOf(p.Code),
	}
	if !p.Ended { // else a late event of a child, or its program's name
		s.procs[p.ID] = made
	}
	return made
}

// refresh reads the mappings and run-time code again, and returns whether they have changed.
func (p *processState) refresh(now monotonic.Moment) bool {
	var changed bool
	var err error
	before := p.process.Code.CodeMappings()
	cost := selfruntime.CPUTimeOf(func() { changed, err = p.process.Code.Refresh() })
	p.refreshBudget.chargeRefresh(now, cost, p.process.Code.CodeMappings() > before)
	if err != nil || !changed {
		return false
	}
	p.remapped = true
	p.process.MappingsChanged()
	return true
}

// renewProgram follows an exec. Precondition: the mappings were read again.
func (s *states) renewProgram(p *processState) {
	p.process.Comm = p.process.Code.Comm
	p.process.ResetForProgram()
	p.walked = samplesWalked{}
	p.history = s.histories.historyOf(p.process.Code)
	p.history.applyTo(p.process)
	if w := p.waitState; w != nil {
		clear(w.names)
		clear(w.variables)
	}
}

// thread returns th, whose first event begins the aggregator's part.
func (s *states) thread(th *target.Thread) *target.Thread {
	if s.threads[th.ID] == nil {
		th.Walk = target.WalkPart{Name: th.Name, NameReadAt: th.FirstListedAt, InnerTID: th.TID}
		s.threads[th.ID] = th
	}
	return th
}

func (p *processState) untrackedState() *target.Thread {
	if p.untrackedThreads == nil {
		pid := p.process.Code.PID
		p.untrackedThreads = &target.Thread{
			Proc: p.process, TID: pid, Observed: observe.NewThread(pid, pid, nil), Walk: target.WalkPart{InnerTID: p.innerPID},
		}
	}
	return p.untrackedThreads
}

// rename reads the name every [target.NameEvery], from a runtime, else from the kernel; at each sample until a
// runtime has a new thread's name. A runtime removes a thread from its list before the thread ends: the name stays for
// one more period.
func rename(th *target.Thread, now monotonic.Moment) {
	sources := th.Proc.Code.Runtimes().FrameSources()
	due := now.Sub(th.Walk.NameReadAt) >= target.NameEvery
	if !due && (th.NamedByRuntime.Load() || len(sources) == 0 || now.Sub(th.FirstListedAt) >= target.NameEvery) {
		return
	}
	name, ok := callstack.ThreadName(sources, th.Walk.InnerTID)
	if due || ok {
		th.Walk.NameReadAt = now
	}
	switch {
	case ok:
		th.Walk.Name = name
		th.NamedByRuntime.Store(true)
	case due && th.NamedByRuntime.Load():
		th.NamedByRuntime.Store(false)
	case due:
		renameByKernel(th)
	}
	th.Walk.Role = callstack.Role(sources, th.Walk.InnerTID, th.Walk.Name)
}

func renameByKernel(th *target.Thread) {
	if name := th.Proc.Code.ThreadName(th.TID); name != "" {
		th.Walk.Name = name
	}
}

// An incomplete stack often ends in code newer than the list of mappings, which is then read again: at least
// refreshAfter after the last time, and without new code for at most 1/refreshShare of a CPU. It is also read every
// refreshEvery, as remapped memory shows in no stack, and every refreshStart while a runtime starts.
//
// Readings that find new code do not delay the next: they take up to loadCredit of CPU time, and 1/refreshShare of a
// CPU more.
const (
	refreshAfter = time.Millisecond
	refreshShare = 20
	refreshEvery = 2 * time.Second
	refreshStart = 5 * time.Millisecond
	loadCredit   = 500 * time.Millisecond
)

type refreshBudget struct {
	last     monotonic.Moment
	cost     time.Duration // that delays the next reading
	loadCost time.Duration // of readings with new code, less the share since
}

func (r *refreshBudget) mayRefresh(at monotonic.Moment) bool {
	return at.Sub(r.last) > max(refreshAfter, refreshShare*r.cost)
}

// due reports a reading due whatever the stacks.
func (r *refreshBudget) due(at monotonic.Moment, starting bool) bool {
	age := at.Sub(r.last)
	return age > refreshEvery || starting && age > max(refreshStart, refreshShare*r.cost)
}

// chargeRefresh charges a reading. loaded means that it found new code.
func (r *refreshBudget) chargeRefresh(at monotonic.Moment, cost time.Duration, loaded bool) {
	r.loadCost = max(r.loadCost-at.Sub(r.last)/refreshShare, 0)
	r.last = at
	if loaded && r.loadCost < loadCredit {
		r.loadCost += cost
		return
	}
	r.cost = cost
}
