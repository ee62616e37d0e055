// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"prywalk/frames"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
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
	// OutOfMemory: the last walk ended for lack of memory.
	OutOfMemory bool
	charged     int64 // bytes, for the last walk
}

// New returns a walker for process pid. memory is charged for the frames; nil: no bound.
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
	for i := range entries {
		e := &entries[i]
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
