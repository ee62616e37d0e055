package dump

import (
	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/managed"
	"prywalk/internal/symbols"
)

// freed is the name of a managed frame whose function is not there any more.
const freed = "[freed]"

// walk walks stacks and names their frames.
type walk struct {
	frames.Walker
	arch   frames.Arch
	pid    int
	names  *symbols.Namer
	merger callstack.Merger
	told   []managed.Frame
}

// run walks a stack, and gives its frames, with the managed ones that the run-time systems of the process know.
func (w *walk) run(space *frames.Space, namers []managed.Namer, s *managed.Sample) []Frame {
	w.merger.Begin(namers, s)
	for w.Init(space, s.Regs, s.Mem); w.Next(); {
		f := w.Frame()
		w.merger.Add(&f)
	}
	out := []Frame{}
	entries := w.merger.End(w.StopReason().Complete())
	for i := range entries {
		e := &entries[i]
		if e.Namer != nil {
			out = w.appendManaged(out, e, s.Live)
			continue
		}
		first := len(out)
		out = w.appendNative(out, &e.Frame)
		for j := range out[first:] {
			out[first+j].Machinery = e.Machinery
		}
	}
	return out
}

// appendManaged adds the functions of a managed frame.
func (w *walk) appendManaged(out []Frame, e *callstack.Entry, l managed.Live) []Frame {
	var truth managed.Truth
	w.told, truth = e.Namer.Describe(e.Ref, l, w.told[:0])
	if truth == managed.Freed {
		w.told = append(w.told[:0], managed.Frame{Function: freed})
	}
	if len(w.told) == 0 {
		w.told = append(w.told, managed.Frame{})
	}
	base := Frame{Kind: managed.Kind(e.Namer.Name()), Module: "[" + e.Namer.Name() + "]"}
	if e.Compiled {
		base.PC, base.SP, base.Method = Hex(e.Frame.PC), Hex(e.Frame.SP), e.Frame.Method.String()
	}
	for _, f := range w.told {
		g := base
		g.Function, g.File, g.Line, g.Type, g.Inlined = f.Function, f.File, f.Line, f.Type, f.Inlined
		out = append(out, g)
	}
	return out
}

// appendNative adds a native frame, and before it the calls that were inlined there.
func (w *walk) appendNative(out []Frame, f *frames.Frame) []Frame {
	base := Frame{PC: Hex(f.PC), SP: Hex(f.SP), Method: f.Method.String()}
	if f.Module == nil {
		return append(out, base)
	}
	m := f.Module
	base.Module, base.BuildID, base.Offset = m.Name, m.BuildID, Hex(f.PC-m.Bias)
	found := w.names.Frames(m, w.pid, f.Lookup(w.arch)-m.Bias, nil)
	for _, s := range found {
		g := base
		g.Function, g.File, g.Line, g.Inlined = s.Name, s.File, s.Line, s.Inlined
		out = append(out, g)
	}
	if len(found) == 0 {
		out = append(out, base)
	}
	return out
}
