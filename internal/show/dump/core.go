// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/goroutines"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/core"
	"prywalk/internal/watch/observe"
)

// framesBesides bounds the frames of a walk that take no room on the stack: the innermost frame, and leaf functions
// that a signal has interrupted.
const framesBesides = 64

// Core describes the threads of a core.
func Core(c *core.Core, o Options) *stacks.Process {
	names := symbols.NewCoreNamer(c.OpenFile, c.Sysroot != "")
	defer names.Close()
	c.JITFuncBounds = names.JITFuncBounds(c.PID)
	p := &stacks.Process{Origin: stacks.Origin{Prywalk: o.Prywalk}, PID: c.PID, Name: c.Comm, Threads: []stacks.Thread{},
		Native: o.Native}
	p.Budget = o.account(c.PID)
	w := walk.New(c.PID, names, p.Budget)
	// at most one frame per word of the core
	left := int(c.Size() / 8)
	explain := sleepers.NewCore(c, names)
	for i, th := range c.Threads() {
		t := w.CoreThread(c, &th, o.MaxDepth, left+framesBesides)
		if i == 0 {
			t.Signal = unix.SignalName(unix.Signal(c.Signal))
		}
		explain.ExplainCore(&t, c, &th)
		left = max(0, left-len(t.Frames))
		p.Threads = append(p.Threads, t)
	}
	w.MaxDepth = o.MaxDepth
	if o.Goroutines {
		addGoroutines(p, c.Runtimes().Schedulers(), 0,
			&goroutines.Reader{Read: c.Read, Space: c.Space(), Walk: w, Locks: o.goroutineLocks})
	}
	p.Program = programOf(c.Space(), c.Runtimes().FrameSources(), c.PID)
	p.Program.Ended = true
	if !o.NoTasks {
		setTasks(p, callstack.Tasks(c.Runtimes().FrameSources(), callstack.CoreWatch{}), o.MaxDepth, explain.Owners, nil)
	}
	if o.Awaits {
		until := procmem.Now() + awaitTime
		setAwaits(p, callstack.Awaits(c.Runtimes().FrameSources(), callstack.CoreWatch{}, until), o.MaxDepth)
	}
	for i := range p.Tasks {
		p.Tasks[i].How = observe.FromCore.String()
	}
	stacks.ClearAwaitedIdleness(p)
	p.SortThreads()
	return p
}

// LocksOfCore is [ExamineLocks] for a core.
func LocksOfCore(c *core.Core, o Options) *locks.Locks {
	out := locks.New()
	out.Prywalk = o.Prywalk
	o.goroutineLocks = true
	out.Processes = []*stacks.Process{Core(c, o)}
	out.Examine(locks.AsRead{})
	if o.Chains {
		_ = out.FollowChains(locks.AsRead{}) // a moment has not too many waits
	}
	return out
}
