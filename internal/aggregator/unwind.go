// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/callstack"
	"prywalk/internal/handover"
	"prywalk/internal/loadedcode"
	"prywalk/internal/observe"
	"prywalk/internal/observe/deepstack"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// stackBuilder makes stacks of the recording from raw samples. It belongs to one goroutine.
type stackBuilder struct {
	builder         *profile.Builder
	walker          frames.Walker
	stack           []profile.LocID
	leaves          map[leafKey]sample.StackID
	methods         [frames.NumMethods]int64
	locations       [1 << locationBits]cachedLocation
	kernelAddresses map[uint64]profile.LocID
	kernelFunctions map[string]profile.LocID // kernel functions of sleepers, by name
	images          *loadedcode.ImageCache   // for processes that were never opened
	lastRecorded    recordedProgram          // last walked of these
	lock            recordingLock
	managed         managedWalk
	outline         deepstack.WalkedFrames // frames of this walk
	records         []frames.Addr          // that a walk lacked ([managed.Scheduler])
	noCode          frames.Addr            // first address of this walk in no module; 0: none
	taskMemory      callstack.TaskMemory
	// walked is called for each walk, for tests.
	walked func(*handover.SharedProcess, *observe.RawSample, sample.StackID, *frames.Walker)
}

type cachedLocation struct {
	module *frames.Module
	addr   frames.Addr
	runs   bool // runs managed frames
	loc    profile.LocID
}

const locationBits = 12 // log2 of the cache size

const maxLeaves = 1 << 14 // cached stacks with a leaf

type leafKey struct {
	stack sample.StackID
	leaf  string
}

func newStackBuilder(recording *profile.Builder, maxDepth int) *stackBuilder {
	b := &stackBuilder{
		builder: recording,
		leaves:  map[leafKey]sample.StackID{},
	}
	b.walker.MaxDepth = maxDepth
	return b
}

func (b *stackBuilder) unwind(thr *threadAccount, s *observe.RawSample) (sample.StackID, frames.StopReason) {
	p := thr.proc
	b.lock.beginRead()
	if p.refreshBudget.due(s.At, p.Target.Runtimes().Starting()) {
		p.refresh(s.At)
	}
	if end := p.Target.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	p.prepareWalk(s.At)
	methods := b.methods
	stop := b.walkRefreshing(thr, s)
	exec := !stop.Complete() && inExec(s)
	b.lock.endRead()
	if exec {
		b.methods = methods
		return b.unwindKernel(s, frames.StopRoot)
	}
	p.countWalk(s, stop, b.walker.OnOtherStack())
	p.noteStackUse(s, stop, &b.walker)
	if p.program != nil {
		p.program.noteDeepest(thr, s, &b.walker)
	}
	id, _ := b.endStack(stop)
	thr.Feedback.Walked(p.Target, &b.walker, s, &b.outline)
	if b.walked != nil {
		b.walked(p.SharedProcess, s, id, &b.walker)
	}
	return id, stop
}

// walkRefreshing repeats an incomplete walk if mappings or generated code have changed.
func (b *stackBuilder) walkRefreshing(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	p, methods := thr.proc, b.methods
	stop := b.walkAddingRecords(thr, s)
	for range mostNewMappings {
		if !p.addMappingAt(b.addressWithoutCode(), s.At) {
			break
		}
		b.methods = methods
		stop = b.walkAddingRecords(thr, s)
	}
	if stop.Complete() || !p.refreshBudget.mayRefresh(s.At) || !p.refresh(s.At) {
		return stop
	}
	b.methods = methods
	return b.walkAddingRecords(thr, s)
}

// walkAddingRecords repeats a walk that ended at a frame record that the kernel has read.
func (b *stackBuilder) walkAddingRecords(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	methods := b.methods
	stop := b.walk(thr, s)
	if !s.EndsAtRecord(&b.walker) {
		return stop
	}
	record, returns := s.Chain()
	b.records = thr.proc.Target.Runtimes().NextRecords(record, returns, b.records[:0])
	s.AddRecords(b.records)
	b.methods = methods
	return b.walk(thr, s)
}

const mostNewMappings = 4 // new mappings of one stack

// addressWithoutCode returns an address of the walk in no module; 0: none.
func (b *stackBuilder) addressWithoutCode() frames.Addr {
	if b.noCode != 0 {
		return b.noCode
	}
	return b.walker.UnmappedPC()
}

// walk fills b.stack.
func (b *stackBuilder) walk(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	b.stack, b.noCode = b.stack[:0], 0
	b.addKernelFrames(s)
	b.outline.Reset()
	p, w := thr.proc, &b.walker
	if sources := p.Target.Runtimes().FrameSources(); len(sources) > 0 && !s.KernelOnly() {
		return b.walkManaged(thr, s, sources)
	}
	for w.Init(p.Target.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.methods[f.Method]++
		if w.KernelOnly() {
			b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: attribute.NoUserSpace}))
			continue
		}
		if f.Module == nil && b.noCode == 0 {
			b.noCode = f.LookupPC(s.Regs.Arch)
		}
		b.stack = append(b.stack, b.location(p, f.Module, f.LookupPC(s.Regs.Arch), false))
		b.outline.Add(&f)
	}
	return w.StopReason()
}

// location returns an address's location. machinery: the frame runs managed ones.
func (b *stackBuilder) location(p *processAccount, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	n := &b.locations[addr*0x9e3779b97f4a7c15>>(64-locationBits)] // Fibonacci hashing
	if m == nil || n.module != m || n.addr != addr || n.runs != machinery {
		loc := b.builder.Loc(&profile.Loc{Module: b.module(p, m), Addr: addr, Machinery: machinery})
		*n = cachedLocation{m, addr, machinery, loc}
	}
	return n.loc
}

func (b *stackBuilder) withLeaf(id sample.StackID, leaf string) sample.StackID {
	if leaf == "" {
		return id
	}
	k := leafKey{id, leaf}
	if with, ok := b.leaves[k]; ok {
		return with
	}
	with := b.builder.InternLeaf(id, leaf)
	if len(b.leaves) >= maxLeaves {
		clear(b.leaves)
	}
	b.leaves[k] = with
	return with
}
