// SPDX-License-Identifier: Apache-2.0

// Package walk walks the stack of a thread, live or of a core, and names its frames.
//
// # Algorithm
//
// A frames.Walker gives the native frames from a sample's copy of the stack. The runtimes replace those that run
// managed functions (callstack.Merger). Symbols or a runtime name each frame at once. An incomplete stack ends with a
// frame that names the reason ([Walker.WithReason]).
package walk

import (
	"prywalk/frames"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/core"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// Walker walks the stacks of one process. Not safe for concurrent use.
type Walker struct {
	frames.Walker
	arch   frames.Arch
	pid    int
	names  *symbols.Namer
	merger callstack.Merger
	named  []managed.Frame
	places map[stacks.Place]*stacks.Place
	code   map[codeKey][]*stacks.Place
	Memory *filememory.Account
	// OutOfMemory means that the last walk ended for lack of memory.
	OutOfMemory bool
	charged     int64 // bytes, for the last walk
}

// New returns a walker for process pid. memory is charged for the frames; nil means no bound.
func New(pid int, names *symbols.Namer, memory *filememory.Account) *Walker {
	return &Walker{pid: pid, names: names, Memory: memory, places: map[stacks.Place]*stacks.Place{},
		code: map[codeKey][]*stacks.Place{}}
}

// Bytes per frame: in a list, and while managed ones are inserted.
const (
	frameCost  = 32
	mergedCost = 384
)

func (w *Walker) run(space *frames.Space, sources []managed.FrameSource, s *managed.Sample) []stacks.Frame {
	if len(sources) == 0 {
		return w.Native(space, s.Regs, s.Mem)
	}
	w.begin(s.Regs.Arch)
	w.merger.Begin(sources, s)
	for w.Init(space, s.Regs, s.Mem); w.Next() && w.reserve(mergedCost); {
		f := w.Frame()
		w.merger.Add(&f)
	}
	entries := w.merger.End(!w.OutOfMemory && w.StopReason().Complete())
	w.Uncharge()
	out := []stacks.Frame{}
	for e := range stacks.Each(entries) {
		if e.Source != nil {
			out = w.appendManaged(out, e, s.Live)
			continue
		}
		out = w.appendNative(out, &e.Frame, e.Machinery)
	}
	return out
}

// Native walks without runtimes.
func (w *Walker) Native(space *frames.Space, regs *frames.Regs, mem frames.Memory) []stacks.Frame {
	w.begin(regs.Arch)
	out := []stacks.Frame{}
	for w.Init(space, regs, mem); w.Next() && !w.OutOfMemory; {
		f := w.Frame()
		out = w.appendNative(out, &f, false)
	}
	return out
}

func (w *Walker) begin(arch frames.Arch) { w.arch, w.OutOfMemory, w.charged = arch, false, 0 }

func (w *Walker) reserve(bytes int64) bool {
	if w.OutOfMemory || w.Memory.Take(bytes, "stacks") != nil {
		w.OutOfMemory = true
		return false
	}
	w.charged += bytes
	return true
}

// Uncharge returns the memory of the last walk's frames, which another one is to replace.
func (w *Walker) Uncharge() {
	w.Memory.Give(w.charged)
	w.charged = 0
}

// StopMemory is the stop reason of a walk that ended for lack of memory.
const StopMemory = "memory"

// WithReason appends, to an incomplete stack, a frame that names the reason.
func (w *Walker) WithReason(list []stacks.Frame) (out []stacks.Frame, complete bool, reason string) {
	stop := w.StopReason()
	complete, reason = stop.Complete(), stop.String()
	if w.OutOfMemory {
		complete, reason = false, StopMemory
	}
	if !complete {
		list = append(list, stacks.Frame{Place: &stacks.Place{Function: incomplete.Name(reason)}})
	}
	return list, complete, reason
}

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
		InnerTID: InnerTID(t, tid), Regs: &s.Regs, Mem: &s.Mem, At: int64(s.At),
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

// GivenName returns a thread's name in its runtime, or false if there is none.
func GivenName(t *loadedcode.Process, tid int) (string, bool) {
	return callstack.ThreadName(t.Runtimes().FrameSources(), InnerTID(t, tid))
}

// InnerTID returns a thread's ID in its own pid namespace, by which runtimes know it; without runtimes, tid.
func InnerTID(t *loadedcode.Process, tid int) int {
	if len(t.Runtimes().FrameSources()) > 0 {
		return procmem.InnerTID(tid)
	}
	return tid
}
