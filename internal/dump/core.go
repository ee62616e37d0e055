// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/callstack"
	"prywalk/internal/core"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/process"
	"prywalk/internal/symbols"
)

// framesBesides bounds frames without stack: the innermost, and interrupted leaf functions.
const framesBesides = 64

// Core describes the stacks of a core's threads.
func Core(c *core.Core, o Options) *Process {
	names := symbols.NewCoreNamer(c.OpenFile, o.Sysroot)
	defer names.Close()
	c.JITFuncBounds = names.JITFuncBounds(c.PID)
	p := &Process{Origin: Origin{Prywalk: o.Prywalk}, PID: c.PID, Name: c.Comm, Threads: []Thread{}, Native: o.Native}
	p.memory = o.account(c.PID)
	w := newWalk(c.PID, names, p.memory)
	w.arch = c.Arch
	// at most one frame per word of the core
	left := int(c.Size() / 8)
	explain := newCoreExplainer(c, names)
	for i, th := range c.Threads() {
		t := coreThread(c, &th, w, o.MaxDepth, left+framesBesides)
		if i == 0 {
			t.Signal = unix.SignalName(unix.Signal(c.Signal))
		}
		explain.explainCore(&t, c, &th)
		left = max(0, left-len(t.Frames))
		p.Threads = append(p.Threads, t)
	}
	w.MaxDepth = o.MaxDepth
	p.addCoreGoroutines(c, o, w)
	p.program = programOf(c.Space(), c.Runtimes().FrameSources(), c.PID)
	p.program.Ended = true
	p.setTasks(callstack.Tasks(c.Runtimes().FrameSources(), callstack.NoThreads{}), o.MaxDepth)
	for i := range p.Tasks {
		p.Tasks[i].How = observe.FromCore.String()
	}
	p.sortThreads()
	return p
}

func (p *Process) addCoreGoroutines(c *core.Core, o Options, w *stackWalker) {
	p.Goroutines, p.Parked = c.Runtimes().WaitingGoroutines()
	systems := c.Runtimes().Schedulers()
	if len(systems) == 0 || !o.Goroutines {
		return
	}
	r := goroutineReader{read: c.Read, space: c.Space(), walk: w, locks: o.goroutineLocks}
	defer r.close()
	var err error
	if p.GoroutineStacks, err = r.readAll(systems, p.Threads); err == nil { // else the line has the reason
		p.Parked = ""
	}
}

func coreThread(c *core.Core, th *core.Thread, w *stackWalker, depth, limit int) Thread {
	t := Thread{TID: th.TID, Name: th.Name, How: observe.FromCore.String()}
	if name, ok := callstack.ThreadName(c.Runtimes().FrameSources(), th.TID); ok {
		t.Name = name
	}
	t.Wait = process.SyscallName(c.Arch, th.Syscall)
	if depth < 0 || depth > limit {
		depth = limit
	}
	w.MaxDepth = depth
	still := callstack.CoreMemory(c.Read)
	t.Frames = w.run(c.Space(), c.Runtimes().FrameSources(),
		&managed.Sample{TID: th.TID, Regs: &th.Regs, Mem: c.Memory(), Live: still})
	t.holds = callstack.HeldLocks(c.Runtimes().FrameSources())
	t.Frames, t.Complete, t.StopReason = w.end(t.Frames)
	return t
}
