// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/callstack"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/observe/deepstack"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// unwinder makes stacks of the recording from raw samples. It belongs to one goroutine.
type unwinder struct {
	builder         *profile.Builder
	walker          frames.Walker
	stack           []profile.LocID
	leaves          map[leafKey]sample.StackID
	methods         [frames.NumMethods]int64
	locations       [1 << locationBits]cachedLocation
	kernelAddresses map[uint64]profile.LocID
	kernelFunctions map[string]profile.LocID // kernel functions of sleepers, by name
	images          *code.ImageCache         // for processes that were never opened
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

func newUnwinder(b *profile.Builder, maxDepth int) *unwinder {
	u := &unwinder{
		builder: b,
		leaves:  map[leafKey]sample.StackID{},
	}
	u.walker.MaxDepth = maxDepth
	return u
}

func (u *unwinder) unwind(thr *threadAccount, s *observe.RawSample) (sample.StackID, frames.StopReason) {
	p := thr.proc
	u.lock.beginRead()
	if p.refreshBudget.due(s.At, p.Target.Runtimes().Starting()) {
		p.refresh(s.At)
	}
	if end := p.Target.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	p.prepareWalk(s.At)
	methods := u.methods
	stop := u.walkRefreshing(thr, s)
	exec := !stop.Complete() && inExec(s)
	u.lock.endRead()
	if exec {
		u.methods = methods
		return u.unwindKernel(s, frames.StopRoot)
	}
	p.countWalk(s, stop, u.walker.OnOtherStack())
	p.noteStackUse(s, stop, &u.walker)
	if p.program != nil {
		p.program.noteDeepest(thr, s, &u.walker)
	}
	id, _ := u.endStack(stop)
	thr.Feedback.Walked(p.Target, &u.walker, s, &u.outline)
	if u.walked != nil {
		u.walked(p.SharedProcess, s, id, &u.walker)
	}
	return id, stop
}

// walkRefreshing repeats an incomplete walk if mappings or generated code have changed.
func (u *unwinder) walkRefreshing(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	p, methods := thr.proc, u.methods
	stop := u.walkAddingRecords(thr, s)
	for range mostNewMappings {
		if !p.addMappingAt(u.addressWithoutCode(), s.At) {
			break
		}
		u.methods = methods
		stop = u.walkAddingRecords(thr, s)
	}
	if stop.Complete() || !p.refreshBudget.mayRefresh(s.At) || !p.refresh(s.At) {
		return stop
	}
	u.methods = methods
	return u.walkAddingRecords(thr, s)
}

// walkAddingRecords repeats a walk that ended at a frame record that the kernel has read.
func (u *unwinder) walkAddingRecords(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	methods := u.methods
	stop := u.walk(thr, s)
	if !s.EndsAtRecord(&u.walker) {
		return stop
	}
	record, returns := s.Chain()
	u.records = thr.proc.Target.Runtimes().NextRecords(record, returns, u.records[:0])
	s.AddRecords(u.records)
	u.methods = methods
	return u.walk(thr, s)
}

const mostNewMappings = 4 // new mappings of one stack

// addressWithoutCode returns an address of the walk in no module; 0: none.
func (u *unwinder) addressWithoutCode() frames.Addr {
	if u.noCode != 0 {
		return u.noCode
	}
	return u.walker.UnmappedPC()
}

// walk fills u.stack.
func (u *unwinder) walk(thr *threadAccount, s *observe.RawSample) frames.StopReason {
	u.stack, u.noCode = u.stack[:0], 0
	u.kernelFrames(s)
	u.outline.Reset()
	p, w := thr.proc, &u.walker
	if sources := p.Target.Runtimes().FrameSources(); len(sources) > 0 && !s.KernelOnly() {
		return u.walkManaged(thr, s, sources)
	}
	for w.Init(p.Target.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		u.methods[f.Method]++
		if w.KernelOnly() {
			u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: attribute.NoUserSpace}))
			continue
		}
		if f.Module == nil && u.noCode == 0 {
			u.noCode = f.LookupPC(s.Regs.Arch)
		}
		u.stack = append(u.stack, u.location(p, f.Module, f.LookupPC(s.Regs.Arch), false))
		u.outline.Add(&f)
	}
	return w.StopReason()
}

// location returns an address's location. machinery: the frame runs managed ones.
func (u *unwinder) location(p *processAccount, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	n := &u.locations[addr*0x9e3779b97f4a7c15>>(64-locationBits)] // Fibonacci hashing
	if m == nil || n.module != m || n.addr != addr || n.runs != machinery {
		loc := u.builder.Loc(&profile.Loc{Module: u.module(p, m), Addr: addr, Machinery: machinery})
		*n = cachedLocation{m, addr, machinery, loc}
	}
	return n.loc
}

func (u *unwinder) withLeaf(id sample.StackID, leaf string) sample.StackID {
	if leaf == "" {
		return id
	}
	k := leafKey{id, leaf}
	if with, ok := u.leaves[k]; ok {
		return with
	}
	with := u.builder.InternLeaf(id, leaf)
	if len(u.leaves) >= maxLeaves {
		clear(u.leaves)
	}
	u.leaves[k] = with
	return with
}
