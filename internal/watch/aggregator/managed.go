// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/base/languages"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// Runtimes name managed frames during the walk, as memory with names can change.
type managedWalk struct {
	process   *loadedcode.Process
	merger    callstack.Merger
	sample    managed.Sample
	live      callstack.Live
	freed     bool            // a frame of the stack is [freed]
	described []managed.Frame // one frame's
	frames    []profile.Frame // the same, as in the recording
}

// managedNames describes a process's managed frames.
type managedNames struct {
	descriptions map[managedRef]profile.FramesID
	modules      map[managedCode]*profile.ModuleInfo
}

type managedRef struct {
	source managed.FrameSource
	ref    managed.Ref
}

// If module is nil, the frames have no code.
type managedCode struct {
	source managed.FrameSource
	module *frames.Module
}

func (b *stackBuilder) walkManaged(
	p *processState, th *target.Thread, s *observe.RawSample, sources []managed.FrameSource,
) frames.StopReason {
	b.beginManaged(p, th, s, sources)
	end := b.mergeNative(p, s)
	th.Observed.Feedback().SetPlan(callstack.Plan(sources, th.Walk.InnerTID, s.Regs.TLS))
	b.addMerged(p, s.Regs.Arch, end)
	return end
}

func (b *stackBuilder) beginManaged(
	p *processState, th *target.Thread, s *observe.RawSample, sources []managed.FrameSource,
) {
	w := &b.managedWalk
	if callstack.HasPlan(sources) {
		p.process.RaiseLack(target.LacksFrames)
	}
	w.process = p.process.Code
	w.live = callstack.Live{
		ReadMemory: w.live.ReadMemory, PID: p.process.Code.PID, TID: th.TID, RunCount: s.Sched.Runs,
		HasRun: s.How == observe.ByStop && s.State == sample.Running,
	}
	w.sample = managed.Sample{
		InnerTID: th.Walk.InnerTID, Regs: &s.Regs, Mem: &s.Mem, At: int64(s.At),
		Live: &w.live,
	}
	w.merger.Begin(sources, &w.sample)
}

func (b *stackBuilder) mergeNative(p *processState, s *observe.RawSample) frames.StopReason {
	w := &b.walker
	for w.Init(p.process.Code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.count(&f)
		b.unmapped = b.unmapped || f.Module == nil
		b.managedWalk.merger.Add(&f)
	}
	return w.StopReason()
}

func (b *stackBuilder) addMerged(p *processState, arch frames.Arch, end frames.StopReason) {
	entries, named := b.managedWalk.merger.End(end.Complete()), false
	b.managedWalk.freed = false
	for i := range entries {
		named = named || entries[i].Source != nil
		b.stack = append(b.stack, b.entryLocation(p, &entries[i], arch))
	}
	if !named || b.managedWalk.freed {
		if main := p.process.Code.Main(); main == nil || p.process.Code.Read(main.Start, make([]byte, 1)) < 1 {
			b.walkedAfterEnd++ // the process has ended, or called exec
		}
	}
}

func (b *stackBuilder) entryLocation(p *processState, e *callstack.Entry, arch frames.Arch) profile.LocID {
	if e.Source == nil {
		return b.location(p, e.Frame.Module, e.Frame.LookupPC(arch), e.Machinery)
	}
	loc := profile.Loc{FramesID: b.describe(p, managedRef{e.Source, e.Ref})}
	var code *frames.Module
	if e.Compiled {
		code, loc.Addr = e.Frame.Module, e.Frame.LookupPC(arch)
	}
	loc.Module = b.managedModule(p, e.Source, code)
	return b.builder.Loc(&loc)
}

// describe does not cache [freed].
func (b *stackBuilder) describe(p *processState, r managedRef) profile.FramesID {
	if description, ok := p.managedNames.descriptions[r]; ok {
		return description
	}
	w := &b.managedWalk
	var certainty managed.Certainty
	w.described, certainty = r.source.Symbolize(r.ref, &w.live, w.described[:0])
	if certainty == managed.Freed {
		w.freed = true
		w.described = append(w.described[:0], managed.Frame{Function: languages.FreedFunction})
		p.process.CodeFreed(procmem.Moment()) // later samples are walked at once
	}
	w.frames = w.frames[:0]
	for i := range w.described {
		w.frames = append(w.frames, profileFrame(&w.described[i]))
	}
	description := b.builder.InternFrames(w.frames)
	if certainty != managed.Freed {
		cache.Put(&p.managedNames.descriptions, maxCached, r, description)
	}
	return description
}

func profileFrame(f *managed.Frame) profile.Frame {
	return profile.Frame{
		Name: f.Function, System: profile.SystemNameOfType(f.Function, f.Type), File: f.File, Line: f.Line,
		StartLine: f.StartLine, Inlined: f.Inlined,
	}
}

func (b *stackBuilder) managedModule(p *processState, source managed.FrameSource,
	m *frames.Module) *profile.ModuleInfo {
	code := managedCode{source, m}
	info := p.managedNames.modules[code]
	if info == nil {
		info = &profile.ModuleInfo{Path: "[" + source.Name() + "]"}
		if m != nil {
			info.Start, info.End, info.Bias, info.Owner, info.Grows = m.Start, m.End, m.Bias, p.process.Code.PID, true
		}
		cache.Put(&p.managedNames.modules, maxCached, code, info)
	}
	return info
}
