// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/callstack"
	"prywalk/internal/core"
	"prywalk/internal/look"
	"prywalk/internal/managed"
	"prywalk/internal/process"
	"prywalk/internal/symbols"
)

// framesBesides is how many frames a thread of a core can have that take no room on
// a stack: the innermost, and those of leaf functions that signals interrupted.
const framesBesides = 64

// Core describes the stacks of a core's threads. sysroot says that the core's files
// are below a directory of their own, with the perf maps of that machine.
func Core(c *core.Core, o Options, sysroot bool) *Process {
	names := symbols.NewCoreNamer(c.OpenFile, sysroot)
	defer names.Close()
	c.JITFuncs = names.JITFuncs(c.PID)
	p := &Process{Origin: Origin{Prywalk: o.Prywalk}, PID: c.PID, Name: c.Comm, Threads: []Thread{}, Native: o.Native}
	p.memory = o.account(c.PID)
	w := newWalk(c.PID, names, p.memory)
	w.arch = c.Arch
	// Threads have their stacks to themselves, so that all together have no more
	// frames than the core has words; only a core that was made to can have more.
	left := int(c.Size() / 8)
	explain := explainerOfCore(c, names)
	for i, th := range c.Threads() {
		t := coreThread(c, &th, w, o.MaxDepth, left+framesBesides)
		if i == 0 {
			t.Signal = unix.SignalName(unix.Signal(c.Signal))
		}
		explain.explainCore(&t, c, &th)
		left = max(0, left-len(t.Frames))
		p.Threads = append(p.Threads, t)
	}
	p.Goroutines, p.Parked = c.WaitingGoroutines()
	p.program = programOf(c.Space(), c.Namers(), c.PID)
	p.program.Ended = true
	p.setTasks(callstack.Tasks(c.Namers(), callstack.Dead{}), o.MaxDepth)
	for i := range p.Tasks {
		p.Tasks[i].How = look.FromCore.String()
	}
	p.sort()
	return p
}

// coreThread walks the stack of one thread, to at most limit frames.
func coreThread(c *core.Core, th *core.Thread, w *walk, depth, limit int) Thread {
	t := Thread{TID: th.TID, Name: th.Name, How: look.FromCore.String()}
	if name, ok := callstack.ThreadName(c.Namers(), th.TID); ok {
		t.Name = name
	}
	t.Wait = process.SyscallName(c.Arch, th.Syscall)
	if depth < 0 || depth > limit {
		depth = limit
	}
	w.MaxDepth = depth
	still := callstack.Still(c.Read)
	t.Frames = w.run(c.Space(), c.Namers(), &managed.Sample{TID: th.TID, Regs: &th.Regs, Mem: c.Memory(), Live: still})
	t.Complete, t.StopReason = w.ended()
	return t
}
