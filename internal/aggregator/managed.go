// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/callstack"
	"prywalk/internal/handover"
	"prywalk/internal/languages"
	"prywalk/internal/managed"
	"prywalk/internal/observe"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// # Managed frames
//
// Run-time systems name their frames during the walk, as the memory with the names can change. Answers are cached by
// frame identity.

const maxManaged = 1 << 14 // in a process's cache, which is then emptied

type managedWalk struct {
	merger    callstack.Merger
	sample    managed.Sample
	live      callstack.Live
	counts    *callstack.RunCounts
	described []managed.Frame
	frames    []profile.Frame
}

type managedNames struct {
	read         func(addr uint64, b []byte) int
	descriptions map[managedRef]profile.FramesID
	locations    map[managedFrame]profile.LocID
	modules      map[managedCode]*profile.ModuleInfo
}

type managedRef struct {
	source managed.FrameSource
	ref    managed.Ref
}

// managedCode is a run-time system's compiled code in a module; module nil: frames without code.
type managedCode struct {
	source managed.FrameSource
	module *frames.Module
}

// managedFrame has an address if it is in compiled code.
type managedFrame struct {
	managedRef
	module *frames.Module
	addr   frames.Addr
}

// walkManaged is walk for a process with managed frames.
func (b *stackBuilder) walkManaged(
	thr *threadAccount, s *observe.RawSample, sources []managed.FrameSource,
) frames.StopReason {
	b.beginManaged(thr, s, sources)
	stop := b.mergeNative(thr.proc, s)
	thr.Feedback.Plan(callstack.Plan(sources, thr.innerTID, s.Regs.TLS))
	b.addMerged(thr.proc, s.Regs.Arch, stop)
	return stop
}

// beginManaged passes a raw sample, and access to its process, to the run-time systems.
func (b *stackBuilder) beginManaged(thr *threadAccount, s *observe.RawSample, sources []managed.FrameSource) {
	p, m := thr.proc, &b.managed
	if callstack.HasPlan(sources) {
		p.NoteLack(handover.LacksFrames)
	}
	if p.managed.read == nil {
		p.managed = newManagedNames(p)
	}
	m.live = callstack.Live{
		ReadMemory: p.managed.read, PID: p.Target.PID, TID: thr.TID, RunCount: s.Sched.Runs,
		HasRun: s.How == observe.ByStop && s.State == sample.Running, RunCounts: m.runCounts(),
	}
	m.sample = managed.Sample{
		InnerTID: thr.innerTID, Regs: &s.Regs, Mem: &s.Mem, At: s.At, Asleep: s.How == observe.ByPassiveRead, Live: &m.live,
	}
	m.merger.Begin(sources, &m.sample)
}

// mergeNative passes the native frames to the merger.
func (b *stackBuilder) mergeNative(p *processAccount, s *observe.RawSample) frames.StopReason {
	w := &b.walker
	for w.Init(p.Target.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.methods[f.Method]++
		b.outline.Add(&f)
		b.managed.merger.Add(&f)
	}
	return w.StopReason()
}

// addMerged adds the merged frames to b.stack.
func (b *stackBuilder) addMerged(p *processAccount, arch frames.Arch, stop frames.StopReason) {
	entries := b.managed.merger.End(stop.Complete())
	for i := range entries {
		b.stack = append(b.stack, b.entryLocation(p, &entries[i], arch))
	}
}

func (m *managedWalk) runCounts() *callstack.RunCounts {
	if m.counts == nil {
		m.counts = callstack.NewRunCounts()
	}
	return m.counts
}

func (m *managedWalk) close() {
	if m.counts != nil {
		m.counts.Close()
		m.counts = nil
	}
}

func newManagedNames(p *processAccount) managedNames {
	return managedNames{
		read:         p.Target.Read,
		descriptions: map[managedRef]profile.FramesID{},
		locations:    map[managedFrame]profile.LocID{},
		modules:      map[managedCode]*profile.ModuleInfo{},
	}
}

func (b *stackBuilder) entryLocation(p *processAccount, e *callstack.Entry, arch frames.Arch) profile.LocID {
	if e.Source == nil {
		return b.location(p, e.Frame.Module, e.Frame.LookupPC(arch), e.Machinery)
	}
	at := managedFrame{managedRef: managedRef{e.Source, e.Ref}}
	if e.Compiled {
		at.module, at.addr = e.Frame.Module, e.Frame.LookupPC(arch)
	}
	if id, ok := p.managed.locations[at]; ok {
		return id
	}
	description, keep := b.describe(p, at.managedRef)
	module := b.managedModule(p, at.source, at.module)
	id := b.builder.Loc(&profile.Loc{Module: module, Addr: at.addr, FramesID: description})
	if keep {
		if len(p.managed.locations) >= maxManaged {
			clear(p.managed.locations)
		}
		p.managed.locations[at] = id
	}
	return id
}

// describe returns a managed frame's functions. [freed] is not cached.
func (b *stackBuilder) describe(p *processAccount, r managedRef) (description profile.FramesID, keep bool) {
	if description, ok := p.managed.descriptions[r]; ok {
		return description, true
	}
	m := &b.managed
	var certainty managed.Certainty
	m.described, certainty = r.source.Symbolize(r.ref, &m.live, m.described[:0])
	if certainty == managed.Freed {
		m.described = append(m.described[:0], managed.Frame{Function: languages.FreedFunction})
	}
	m.frames = m.frames[:0]
	for _, f := range m.described {
		m.frames = append(m.frames, profile.Frame{
			Name: f.Function, System: profile.SystemNameOfType(f.Function, f.Type), File: f.File,
			Line: f.Line, StartLine: f.StartLine,
			Inlined: f.Inlined,
		})
	}
	description = b.builder.InternFrames(m.frames)
	if certainty == managed.Freed {
		return description, false
	}
	if len(p.managed.descriptions) >= maxManaged {
		clear(p.managed.descriptions)
	}
	p.managed.descriptions[r] = description
	return description, true
}

// managedModule returns the module of a managed frame: the run-time system's name, and compiled code's addresses.
func (b *stackBuilder) managedModule(p *processAccount, source managed.FrameSource,
	m *frames.Module) *profile.ModuleInfo {
	k := managedCode{source, m}
	info := p.managed.modules[k]
	if info == nil {
		info = &profile.ModuleInfo{Path: "[" + source.Name() + "]"}
		if m != nil {
			info.Start, info.End, info.Bias, info.Owner, info.Grows = m.Start, m.End, m.Bias, p.Target.PID, true
		}
		p.managed.modules[k] = info
	}
	return info
}

func (b *stackBuilder) forgetManaged(p *processAccount) {
	for _, info := range p.managed.modules {
		b.builder.ForgetModule(info)
	}
	clear(p.managed.modules)
	clear(p.managed.locations)
	clear(p.managed.descriptions)
}
