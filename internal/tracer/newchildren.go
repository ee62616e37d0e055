// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"

	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/descendants"
	"prywalk/internal/engine"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	procs "prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/target"
	"prywalk/ptrace"
)

// newChildren observes child processes before they are tracked, where the kernel's samples do not show them. Each tick
// finds them (package descendants), marks those on a CPU, and stops them if that is admitted. A mark becomes:
//
//	the mark             the process                  becomes
//	has a sample         is tracked                   a sample of its first thread
//	has none             is tracked                   a [attribute.UnassignedSample] of its nearest tracked ancestor
//	any                  ends untracked               a [attribute.UnassignedSample] of its nearest tracked ancestor
//	has a sample         is tracked, and ends before  nothing
//	                     its first thread is
//	any                  is untracked for 10 s, or    nothing
//	                     at the end of the run
//
// UnassignedSample shares the CPU time of the ancestor's children. CPU time by program name becomes a
// [attribute.ChildCounted], also if the child stays untracked.
type newChildren struct {
	shared       *engine.SharedState
	pace         *pacer
	counts       *counts
	finder       *childFinder // nil: children are not followed
	engine       engine.Engine
	creations    *taskCreations
	stops        *stops
	backlog      *backlog
	opens        *procOpens
	earlier      map[*target.Process]*untrackedChild // observations before the first thread is tracked
	searching    bool                                // a search was not done within its tick
	precedesExec bool                                // a stop may precede an exec ([mayPrecedeExec])
	unassigned   int64                               // observations of processes that are not tracked yet
}

type (
	childFinder = descendants.ChildFinder[*target.Process, *untrackedChild]
	foundChild  = descendants.Child[*target.Process, *untrackedChild]
)

type untrackedChild struct {
	marks    []mark
	thread   *observe.Thread // nil: not open
	memory   *procmem.Memory
	mappings loadedcode.MappingList
	refused  bool // by the kernel
}

// mark is a tick at which the process was on a CPU.
type mark struct {
	at         int64 // CLOCK_MONOTONIC ns
	standsFor  int64 // ns
	program    *target.Program
	raw        *observe.RawSample   // or nil
	childState attribute.ChildState // why raw is nil
}

func (n *newChildren) stats(s *runstats.Stats) { s.UnassignedSamples += n.unassigned }

func (n *newChildren) begin() {
	n.finder = descendants.NewChildFinder[*target.Process, *untrackedChild](n.shared.Files)
	n.earlier = map[*target.Process]*untrackedChild{}
	n.precedesExec = mayPrecedeExec()
	n.finder.BeforeRead = func() {
		if !n.opens.busy() {
			n.stops.poll()
		}
	}
	n.finder.Pin, n.finder.Unpin = ptrace.Pin, ptrace.Unpin
}

// mayPrecedeExec reports whether a process may be stopped that may call exec meanwhile. An exec under a tracer without
// CAP_SYS_PTRACE does not grant the rights of a set-user-ID program.
func mayPrecedeExec() bool {
	var s procmem.Status
	return procmem.ReadStatus(os.Getpid(), &s) == nil && s.CapEff>>unix.CAP_SYS_PTRACE&1 != 0
}

func (n *newChildren) observe(now int64) {
	if n.finder == nil {
		return
	}
	if n.engine.Coverage().Children || !n.find(now) || n.finder.Empty() {
		return
	}
	for found, over := range n.finder.Tick(now, n.mark) {
		n.reportUsed(found)
		if found.Value == nil {
			continue
		}
		if !over {
			n.reportMarks(found.Ancestor, found.Value.marks)
		}
		n.drop(found.Value)
	}
}

// find returns false if the search continues on the ordinary thread ([procOpens]); the caller retries at a later tick,
// which begins no search: else processes that have ended would stay while each search takes long.
func (n *newChildren) find(now int64) (done bool) {
	last := n.creations.last(n.shared.Tick.Number)
	switch {
	case n.opens.busy():
		return false
	case n.searching:
		n.searching = false
	case n.opens.byTracer():
		ptrace.Pin() // see stops
		n.finder.Search(last, now)
		ptrace.Unpin()
	case n.finder.Advanced(last):
		n.searching = !n.opens.run(func() { n.finder.Search(last, now) })
		return !n.searching
	}
	return true
}

func (n *newChildren) mark(found *foundChild, s *procmem.Stat) {
	if !n.shared.Observer.Preemption().RunsOrPreempted(found.Files) {
		return
	}
	ptrace.Pin() // allocates, see [procOpens.takeOrMake]
	child := found.Value
	if child == nil {
		child = &untrackedChild{}
		found.Value = child
	}
	ran := &target.Program{Name: s.Comm.String()}
	tick := &n.shared.Tick
	m := mark{at: tick.At, standsFor: tick.StandsFor, program: ran, childState: attribute.ChildProgramOnly}
	if s.Exiting() {
		m.childState = attribute.ChildInExit
	}
	child.marks = append(child.marks, m)
	ptrace.Unpin()
	mayStop := s.Threads == 1 && (n.precedesExec || !n.finder.MayExec(found, s))
	if m.childState == attribute.ChildProgramOnly && !child.refused && mayStop {
		n.stopChild(child, found.PID)
	}
}

func (n *newChildren) stopChild(child *untrackedChild, pid int) {
	var err error
	if !n.admitsStop() || !n.opens.run(func() { err = n.open(child, pid) }) {
		child.marks[len(child.marks)-1].childState = attribute.ChildNotStopped
		return
	}
	if err != nil {
		return
	}
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	outcome, raw, err := n.stops.beginObservation(child.thread)
	switch outcome {
	case observe.Failed, observe.Done:
		n.stopFinished(child, raw, err)
	case observe.Unchanged:
		n.counts.noteUnchanged(0)
		n.unassigned++
	case observe.WaitsForCPU:
		n.counts.notePostponed()
	}
	n.stops.pollBegun(child.thread, outcome)
}

func (n *newChildren) admitsStop() bool {
	return !n.shared.Ending && !n.opens.busy() && !n.pace.drawsSubset() && n.shared.Observer.Attached() == 0 &&
		n.pace.admitsObservation() && n.backlog.roomForCopy()
}

func (n *newChildren) open(child *untrackedChild, pid int) error {
	if child.thread == nil {
		child.memory = procmem.OpenMemory(pid)
		child.thread = observe.NewThread(pid, pid, n.shared.Files)
		child.thread.Finished = func(raw *observe.RawSample, err error) { n.stopFinished(child, raw, err) }
		child.thread.Memory = child.memory
		_ = child.thread.Files().OpenDir() // on error the stop fails
	} else {
		child.memory.Renew(pid)
	}
	if err := child.mappings.Read(pid); err != nil {
		return err
	}
	child.memory.SetSpans(child.mappings.Spans)
	return nil
}

func (n *newChildren) stopFinished(child *untrackedChild, raw *observe.RawSample, err error) {
	if err != nil {
		reason := observe.Reason(err)
		n.counts.noteFailure(reason)
		child.refused = child.refused || reason == refusal.Denied
		return
	}
	n.unassigned++ // until noteThreadTracked
	n.stops.countObservation(child.thread, raw)
	m := &child.marks[len(child.marks)-1]
	switch {
	case m.raw != nil || m.childState == attribute.ChildInExit:
		n.shared.Pool.Put(raw)
	case child.stoppedInExec(raw):
		m.childState = attribute.ChildInExec
		n.shared.Pool.Put(raw)
	default:
		raw.State = sample.Running
		raw.OnCPU = true
		raw.Basis = sample.Exact
		m.raw = raw
		m.program.Maps = child.mappings.Code
	}
}

// stoppedInExec reports whether mappings and registers are perhaps of different programs.
func (child *untrackedChild) stoppedInExec(raw *observe.RawSample) bool {
	brokeExec := raw.How == observe.ByStop && procs.SyscallName(raw.Regs.Arch, raw.BrokenCall) == "execve"
	return brokeExec || !child.mappings.HasCode(raw.Regs.PC)
}

func (n *newChildren) noteProcessTracked(p *target.Process) {
	if n.finder == nil {
		return
	}
	n.opens.wait()
	found := n.finder.Track(p.Target.PID, p)
	if found == nil || found.Value == nil {
		return
	}
	child := found.Value
	n.earlier[p] = child
	n.close(child)
	for i := range child.marks {
		if child.marks[i].raw == nil {
			n.reportMarks(found.Ancestor, child.marks[i:i+1])
		}
	}
}

func (n *newChildren) noteThreadTracked(th *target.Thread) {
	child := n.earlier[th.Proc]
	if child == nil || !th.IsFirst() {
		return
	}
	delete(n.earlier, th.Proc)
	for i := range child.marks {
		m := &child.marks[i]
		if m.raw == nil {
			continue
		}
		th.CreatedAt = min(th.CreatedAt, m.at, m.raw.At)
		n.unassigned--
		n.shared.AddSample(target.Event{Thread: th, RawSample: m.raw, Program: m.program,
			StandsFor: m.standsFor})
		m.raw = nil
	}
}

func (n *newChildren) noteExec(p *target.Process) {
	if n.finder != nil {
		n.opens.wait()
		n.finder.NoteExec(p.Target.PID)
	}
}

func (n *newChildren) noteProcessEnded(p *target.Process) {
	if child := n.earlier[p]; child != nil {
		n.drop(child)
		delete(n.earlier, p)
	}
	if n.finder != nil {
		n.opens.wait()
		n.finder.Forget(p.Target.PID, p)
	}
}

func (n *newChildren) reportMarks(ancestor *target.Process, marks []mark) {
	for i := range marks {
		m := &marks[i]
		ran := &attribute.UnassignedSample{
			Process: ancestor.ID, Place: attribute.Place{State: sample.Running}, StandsFor: m.standsFor, At: m.at,
			OfChild: true,
		}
		e := target.Event{What: ran, Proc: ancestor, Program: m.program, RawSample: m.raw}
		if m.raw == nil {
			ran.Place.ChildState = m.childState
			n.shared.Out.Add(e)
			continue
		}
		ran.At = m.raw.At
		n.shared.AddSample(e)
		m.raw = nil
	}
}

func (n *newChildren) reportUsed(found *foundChild) {
	for _, u := range found.Times {
		n.shared.Out.Add(target.Event{
			Program: &target.Program{Name: u.Name},
			What:    &attribute.ChildCounted{Process: found.Ancestor.ID, CPU: u.NS},
		})
	}
}

func (n *newChildren) drop(child *untrackedChild) {
	for i := range child.marks {
		if s := child.marks[i].raw; s != nil {
			n.shared.Pool.Put(s)
		}
	}
	child.marks = nil
	n.close(child)
}

func (n *newChildren) close(child *untrackedChild) {
	if child.thread != nil {
		n.stops.cancel(child.thread)
		child.thread.Close()
		child.memory.Close()
		child.thread = nil
	}
}

func (n *newChildren) end() {
	if n.finder == nil {
		return
	}
	n.opens.wait()
	for found := range n.finder.All() {
		found.Files.Close()
		if found.Value != nil {
			n.drop(found.Value)
		}
	}
	n.finder = nil
}
