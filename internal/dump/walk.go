// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/budget"
	"prywalk/internal/callstack"
	"prywalk/internal/managed"
	"prywalk/internal/namehints"
	"prywalk/internal/schema"
	"prywalk/internal/symbols"
)

const freedFunction = "[freed]"

type stackWalker struct {
	frames.Walker
	arch        frames.Arch
	pid         int
	names       *symbols.Namer
	merger      callstack.Merger
	named       []managed.Frame
	places      map[Place]*Place
	code        map[codeKey][]*Place
	memory      *budget.Account // nil: no bound
	outOfMemory bool            // out of memory
}

func newWalk(pid int, names *symbols.Namer, memory *budget.Account) *stackWalker {
	return &stackWalker{pid: pid, names: names, memory: memory, places: map[Place]*Place{}, code: map[codeKey][]*Place{}}
}

type codeKey struct {
	module *frames.Module
	lookup frames.Addr
	method frames.Method
	pc     frames.Addr
}

// Bytes per frame, in a list, and while managed ones are inserted.
const (
	frameCost  = 32
	mergedCost = 384
)

func (w *stackWalker) run(space *frames.Space, sources []managed.FrameSource, s *managed.Sample) []Frame {
	w.outOfMemory = false
	if len(sources) == 0 {
		return w.native(space, s)
	}
	w.merger.Begin(sources, s)
	taken := int64(0)
	for w.Init(space, s.Regs, s.Mem); w.Next() && w.reserve(mergedCost); taken += mergedCost {
		f := w.Frame()
		w.merger.Add(&f)
	}
	entries := w.merger.End(!w.outOfMemory && w.StopReason().Complete())
	w.memory.Give(taken)
	out := []Frame{}
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

func (w *stackWalker) native(space *frames.Space, s *managed.Sample) []Frame {
	out := []Frame{}
	for w.Init(space, s.Regs, s.Mem); w.Next() && !w.outOfMemory; {
		f := w.Frame()
		out = w.appendNative(out, &f, false)
	}
	return out
}

func (w *stackWalker) reserve(bytes int64) bool {
	if !w.outOfMemory {
		w.outOfMemory = w.memory.Take(bytes, "stacks") != nil
	}
	return !w.outOfMemory
}

func (w *stackWalker) drop(t *Thread) { w.memory.Give(frameCost * int64(len(t.Frames))) }

const outOfMemory = "memory"

// end appends, to an incomplete stack, a frame that names the reason.
func (w *stackWalker) end(list []Frame) (out []Frame, complete bool, reason string) {
	stop := w.StopReason()
	complete, reason = stop.Complete(), stop.String()
	if w.outOfMemory {
		complete, reason = false, outOfMemory
	}
	if !complete {
		list = append(list, Frame{Place: &Place{Function: namehints.IncompleteName(reason)}})
	}
	return list, complete, reason
}

func (w *stackWalker) place(p Place) *Place {
	known := w.places[p]
	if known == nil {
		known = &p
		w.places[p] = known
	}
	return known
}

func (w *stackWalker) appendManaged(out []Frame, e *callstack.Entry, l managed.Live) []Frame {
	var certainty managed.Certainty
	w.named, certainty = e.Source.Symbolize(e.Ref, l, w.named[:0])
	if certainty == managed.Freed {
		w.named = append(w.named[:0], managed.Frame{Function: freedFunction})
	}
	if len(w.named) == 0 {
		w.named = append(w.named, managed.Frame{})
	}
	f := Frame{}
	base := Place{Kind: managed.Kind(e.Source.Name()), Module: "[" + e.Source.Name() + "]"}
	if e.Compiled {
		f.PC, f.SP, base.Method = schema.Hex(e.Frame.PC), schema.Hex(e.Frame.SP), e.Frame.Method.String()
	}
	for _, t := range w.named {
		if !w.reserve(frameCost) {
			return out
		}
		p := base
		p.Function, p.File, p.Line, p.Type, p.Inlined = t.Function, t.File, t.Line, t.Type, t.Inlined
		f.Place = w.place(p)
		out = append(out, f)
	}
	return out
}

func (w *stackWalker) appendNative(out []Frame, f *frames.Frame, machinery bool) []Frame {
	for _, p := range w.nativePlaces(f) {
		if !w.reserve(frameCost) {
			return out
		}
		if machinery {
			q := *p
			q.Machinery = true
			p = w.place(q)
		}
		out = append(out, Frame{PC: schema.Hex(f.PC), SP: schema.Hex(f.SP), Place: p})
	}
	return out
}

// nativePlaces returns a frame's functions, inlined ones first; it caches them unless made at run time.
func (w *stackWalker) nativePlaces(f *frames.Frame) []*Place {
	base := Place{Method: f.Method.String()}
	if f.Module == nil {
		if w.KernelOnly() {
			base.Function = attribute.NoUserSpace
		}
		return []*Place{w.place(base)}
	}
	m, lookup := f.Module, f.LookupPC(w.arch)
	key := codeKey{m, lookup, f.Method, f.PC}
	if list := w.code[key]; list != nil && !m.Generated {
		return list
	}
	base.Module, base.BuildID, base.Offset = m.Name, m.BuildID, schema.Hex(f.PC-m.Bias)
	var list []*Place
	for _, s := range w.names.Frames(m, w.pid, lookup-m.Bias, nil) {
		p := base
		p.Function, p.File, p.Line, p.Inlined = s.Name, s.File, s.Line, s.Inlined
		list = append(list, w.place(p))
	}
	if len(list) == 0 {
		list = append(list, w.place(base))
	}
	w.code[key] = list
	return list
}
