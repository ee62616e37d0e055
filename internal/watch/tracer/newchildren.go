// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/descendants"
	"prywalk/internal/watch/engine"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// newChildren names the programs of child processes before they are tracked, where the kernel's samples do not show
// them, or only their time in user space. Each tick finds such processes (package descendants), and marks those on a
// CPU. When the process is tracked, or has ended, each mark becomes an [attribute.UnassignedSample] of its nearest
// tracked ancestor, which shares the CPU time of the ancestor's children. Those of a process that stays untracked for
// 10 s, or to the end of the run, are dropped.
type newChildren struct {
	shared    *engine.SharedState
	finder    *childFinder // nil: children are not followed
	engine    engine.Engine
	creations *taskCreations
	stops     *stops
	opens     *procOpens
	searching bool // a search was not done within its tick
}

type (
	childFinder = descendants.ChildFinder[*target.Process, []mark]
	foundChild  = descendants.Child[*target.Process, []mark]
)

// mark is a tick at which the process was on a CPU.
type mark struct {
	at        int64 // CLOCK_MONOTONIC ns
	standsFor int64 // ns
	program   *target.Program
}

func (n *newChildren) begin() {
	n.finder = descendants.NewChildFinder[*target.Process, []mark](n.shared.Files)
	n.finder.BeforeRead = func() {
		if !n.opens.busy() {
			n.stops.poll()
		}
	}
	n.finder.Pin, n.finder.Unpin = ptrace.Pin, ptrace.Unpin
}

func (n *newChildren) observe(now int64) {
	if n.finder == nil {
		return
	}
	if n.engine.Coverage().Children || !n.find(now) || n.finder.Empty() {
		return
	}
	for found, over := range n.finder.Tick(now, n.mark) {
		if !over {
			n.report(found)
		}
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
	defer ptrace.Unpin()
	tick := &n.shared.Tick
	ran := &target.Program{Name: s.Comm.String()}
	found.Value = append(found.Value, mark{at: tick.At, standsFor: tick.StandsFor, program: ran})
}

func (n *newChildren) report(found *foundChild) {
	for _, m := range found.Value {
		n.shared.Out.Add(target.Event{
			Proc: found.Ancestor, Program: m.program,
			What: &attribute.UnassignedSample{
				Process:   found.Ancestor.ID,
				Place:     attribute.Place{State: sample.Running, ChildState: attribute.ChildProgramOnly},
				StandsFor: m.standsFor, At: m.at, OfChild: true,
			},
		})
	}
}

func (n *newChildren) noteProcessTracked(p *target.Process) {
	if n.finder == nil {
		return
	}
	n.opens.wait()
	if found := n.finder.Track(p.Target.PID, p); found != nil {
		n.report(found)
	}
}

func (n *newChildren) noteProcessEnded(p *target.Process) {
	if n.finder != nil {
		n.opens.wait()
		n.finder.Forget(p.Target.PID, p)
	}
}

func (n *newChildren) end() {
	if n.finder == nil {
		return
	}
	n.opens.wait()
	for found := range n.finder.All() {
		found.Files.Close()
	}
	n.finder = nil
}
