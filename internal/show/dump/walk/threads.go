// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// CoreThread walks a thread of a core. depth and limit bound its frames; negative depth: only limit does.
func (w *Walker) CoreThread(c *core.Core, th *core.Thread, depth, limit int) stacks.Thread {
	t := stacks.Thread{TID: th.TID, Name: th.Name, How: observe.FromCore.String()}
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
		&managed.Sample{InnerTID: th.TID, Regs: &th.Regs, Mem: c.Memory(), Live: still})
	t.Holds = callstack.HeldLocks(c.Runtimes().FrameSources())
	t.Frames, t.Complete, t.StopReason = w.WithReason(t.Frames)
	return t
}

// LiveThread walks a thread of a live process by its sample.
func (w *Walker) LiveThread(t *loadedcode.Process, tid int, s *observe.RawSample) stacks.Thread {
	th := stacks.Thread{TID: tid, Name: ThreadName(t, tid), State: s.State.Letter(), Wait: s.WaitReason(),
		How: s.How.String(), RunCount: s.Sched.Runs}
	if end := t.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	th.Frames = w.run(t.Space(), t.Runtimes().FrameSources(), &managed.Sample{
		InnerTID: InnerTID(t, tid), Regs: &s.Regs, Mem: &s.Mem, At: s.At, Asleep: s.How == observe.ByPassiveRead,
		Live: &callstack.Live{ReadMemory: t.Read, PID: t.PID, TID: tid, RunCount: s.Sched.Runs},
	})
	th.Holds = callstack.HeldLocks(t.Runtimes().FrameSources())
	th.Frames, th.Complete, th.StopReason = w.WithReason(th.Frames)
	return th
}

// ThreadName returns a thread's name in its runtime, else the kernel's.
func ThreadName(t *loadedcode.Process, tid int) string {
	if name, ok := GivenName(t, tid); ok {
		return name
	}
	return t.ThreadName(tid)
}

// GivenName returns a thread's name in its runtime; false: none.
func GivenName(t *loadedcode.Process, tid int) (string, bool) {
	sources := t.Runtimes().FrameSources()
	if len(sources) == 0 {
		return "", false
	}
	return callstack.ThreadName(sources, InnerTID(t, tid))
}

// InnerTID returns a thread's ID in its own pid namespace, by which runtimes know it; without runtimes, tid.
func InnerTID(t *loadedcode.Process, tid int) int {
	if len(t.Runtimes().FrameSources()) > 0 {
		return procmem.InnerTID(tid)
	}
	return tid
}
