// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

type codeKey struct {
	module *frames.Module
	lookup frames.Addr
	method frames.Method
	pc     frames.Addr
}

func (w *Walker) place(p stacks.Place) *stacks.Place {
	known := w.places[p]
	if known == nil {
		known = &p
		w.places[p] = known
	}
	return known
}

func (w *Walker) appendManaged(out []stacks.Frame, e *callstack.Entry, l managed.Live) []stacks.Frame {
	var certainty managed.Certainty
	w.named, certainty = e.Source.Symbolize(e.Ref, l, w.named[:0])
	if certainty == managed.Freed {
		w.named = append(w.named[:0], managed.Frame{Function: languages.FreedFunction})
	}
	if len(w.named) == 0 {
		w.named = append(w.named, managed.Frame{})
	}
	f := stacks.Frame{}
	base := stacks.Place{Kind: managed.Kind(e.Source.Name()), Module: "[" + e.Source.Name() + "]"}
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

func (w *Walker) appendNative(out []stacks.Frame, f *frames.Frame, machinery bool) []stacks.Frame {
	for _, p := range w.Places(f) {
		if !w.reserve(frameCost) {
			return out
		}
		if machinery {
			q := *p
			q.Machinery = true
			p = w.place(q)
		}
		out = append(out, stacks.Frame{PC: schema.Hex(f.PC), SP: schema.Hex(f.SP), Place: p})
	}
	return out
}

// Places returns a frame's functions, inlined ones first; cached unless generated at run time.
func (w *Walker) Places(f *frames.Frame) []*stacks.Place {
	base := stacks.Place{Method: f.Method.String()}
	if f.Module == nil {
		if w.KernelOnly() {
			base.Function = attribute.NoUserSpace
		}
		return []*stacks.Place{w.place(base)}
	}
	m, lookup := f.Module, f.LookupPC(w.arch)
	key := codeKey{m, lookup, f.Method, f.PC}
	if list := w.code[key]; list != nil && !m.Generated {
		return list
	}
	base.Module, base.BuildID, base.Offset = m.Name, m.BuildID, schema.Hex(f.PC-m.Bias)
	var list []*stacks.Place
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

// VariableAt returns the static variable at an address; its name is "" if there is none.
func (w *Walker) VariableAt(space *frames.Space, addr uint64) waits.Variable {
	return w.names.VariableAt(space, w.pid, addr)
}
