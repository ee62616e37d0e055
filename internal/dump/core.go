package dump

import (
	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/core"
	"prywalk/internal/look"
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
	p := &Process{PID: c.PID, Name: c.Comm, Threads: []Thread{}}
	// Threads have their stacks to themselves, so that all together have no more
	// frames than the core has words; only a core that was made to can have more.
	left := int(c.Size() / 8)
	for i, th := range c.Threads() {
		t := coreThread(c, &th, names, o.MaxDepth, left+framesBesides)
		if i == 0 {
			t.Signal = unix.SignalName(unix.Signal(c.Signal))
		}
		left = max(0, left-len(t.Frames))
		p.Threads = append(p.Threads, t)
	}
	p.sort()
	return p
}

// coreThread walks the stack of one thread, to at most limit frames.
func coreThread(c *core.Core, th *core.Thread, names *symbols.Namer, depth, limit int) Thread {
	t := Thread{TID: th.TID, Name: th.Name, How: look.FromCore.String(), Frames: []Frame{}}
	t.Wait = process.SyscallName(c.Arch, th.Syscall)
	if depth < 0 || depth > limit {
		depth = limit
	}
	w := &frames.Walker{MaxDepth: depth}
	for w.Init(c.Space(), &th.Regs, c.Memory()); w.Next(); {
		f := w.Frame()
		t.Frames = appendFrame(t.Frames, &f, c.Arch, c.PID, names)
	}
	stop := w.StopReason()
	t.Complete, t.StopReason = stop.Complete(), stop.String()
	return t
}
