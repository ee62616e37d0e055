// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// stackBuilder makes stacks of the recording from raw samples. It belongs to one goroutine.
type stackBuilder struct {
	builder          *profile.Builder
	images           *loadedcode.ImageCache // for unopened processes
	lastMmap2Program mmap2Program
	kernelFrame      [1]profile.Frame
	walked           func(*target.Process, *observe.RawSample, sample.StackID, *frames.Walker) // nil means none
	methods          methodCounts
	walkedAfterEnd   int64 // of programs with managed code, whose frames may be missing

	// These are of the present walk.
	walker      frames.Walker
	managedWalk managedWalk
	taskMemory  callstack.TaskMemory
	stack       []profile.LocID // innermost frame first
	walkMethods methodCounts
	unread      bool // the present stack has code that cannot be read
	unmapped    bool // a frame is in no module
	taskFrames  []taskFrame
}

type methodCounts [frames.NumMethods]int64

func newStackBuilder(recording *profile.Builder, maxDepth int) *stackBuilder {
	b := &stackBuilder{builder: recording}
	b.walker.MaxDepth = maxDepth
	b.managedWalk.live.ReadMemory = func(addr uint64, to []byte) int { return b.managedWalk.process.Read(addr, to) }
	return b
}

func (b *stackBuilder) stackOfSample(
	p *processState, th *target.Thread, program *target.Program, s *observe.RawSample,
) (sample.StackID, frames.StopReason) {
	switch {
	case s.Regs.Arch == frames.ArchUnknown: // no user stack
		return b.kernelStack(s, frames.StopRoot)
	case program == nil && p.process.Ended:
		return b.kernelStack(s, frames.StopBadMemory)
	case program == nil:
		return b.stackOfThread(p, th, s)
	}
	return b.stackOfUntracked(p.process, program, s)
}

// stackOfThread learns from the walk what the next samples copy.
func (b *stackBuilder) stackOfThread(p *processState, th *target.Thread, s *observe.RawSample) (
	sample.StackID, frames.StopReason,
) {
	if p.refreshBudget.due(s.At, p.process.Code.Runtimes().Starting()) {
		p.refresh(s.At)
	}
	if end := p.process.Code.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	end := b.walkWithRefresh(p, th, s)
	if !end.Complete() && inExec(s) {
		return b.kernelStack(s, frames.StopRoot)
	}
	p.countWalk(s, end)
	p.history.rememberDeepest(th, s, &b.walker)
	id, end := b.endStack(end)
	th.Observed.Feedback().Walked(p.process.Code, &b.walker, s)
	if b.walked != nil {
		b.walked(p.process, s, id, &b.walker)
	}
	return id, end
}

func (b *stackBuilder) walkWithRefresh(p *processState, th *target.Thread, s *observe.RawSample) frames.StopReason {
	end := b.walkOnce(p, th, s)
	if end.Complete() && !b.unmapped || !p.refreshBudget.mayRefresh(s.At) || !p.refresh(s.At) {
		return end
	}
	return b.walkOnce(p, th, s)
}

func (b *stackBuilder) beginStack() {
	b.stack, b.taskFrames, b.walkMethods, b.unread = b.stack[:0], b.taskFrames[:0], methodCounts{}, false
}

func (b *stackBuilder) count(f *frames.Frame) {
	b.walkMethods[f.Method]++
	b.unread = b.unread || f.Module == nil || f.Module.Calls == nil
	if f.AfterCall && f.SP != 0 {
		b.taskFrames = append(b.taskFrames, taskFrame{f.PC, f.SP})
	}
}

func (b *stackBuilder) walkOnce(p *processState, th *target.Thread, s *observe.RawSample) frames.StopReason {
	b.beginStack()
	b.unmapped = false
	b.addKernelFrames(s)
	w := &b.walker
	if sources := p.process.Code.Runtimes().FrameSources(); len(sources) > 0 && !s.KernelOnly() {
		return b.walkManaged(p, th, s, sources)
	}
	for w.Init(p.process.Code.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		b.count(&f)
		if w.KernelOnly() {
			b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: attribute.NoUserSpace}))
			continue
		}
		b.unmapped = b.unmapped || f.Module == nil
		b.stack = append(b.stack, b.location(p, f.Module, f.LookupPC(s.Regs.Arch), false))
	}
	return w.StopReason()
}

// walkTask fills b.stack. beyond means that the walk read more than the copy, so the stack is true only if the task has
// not run since.
func (b *stackBuilder) walkTask(p *processState, t *managed.TaskRecord, stack []byte) (
	end frames.StopReason, beyond bool,
) {
	m := &b.taskMemory
	m.Begin(frames.Region{Addr: t.Regs.SP(), Bytes: stack}, t.StackHi, p.process.Code.Read)
	end = b.walkTaskIn(p, t, &m.Snapshot)
	if end != frames.StopBadMemory {
		return end, false
	}
	return b.walkTaskIn(p, t, m), true
}

func (b *stackBuilder) walkTaskIn(p *processState, t *managed.TaskRecord, mem frames.Memory) frames.StopReason {
	b.beginStack()
	w := &b.walker
	for w.Init(p.process.Code.Space(), &t.Regs, mem); w.Next(); {
		f := w.Frame()
		b.count(&f)
		b.stack = append(b.stack, b.location(p, f.Module, f.LookupPC(t.Regs.Arch), false))
	}
	return w.StopReason()
}

// endStack returns [frames.StopGuessedRoot] for a complete stack with guessed frames. A guess that is the root alone is
// none: it leads to the function where all stacks of the thread begin (programs that are linked with musl). But in code
// that cannot be read the search can have passed frames.
func (b *stackBuilder) endStack(end frames.StopReason) (sample.StackID, frames.StopReason) {
	guesses := b.walkMethods[frames.MethodScan]
	if guesses > 0 && !b.unread && b.walker.Frame().Method == frames.MethodScan {
		guesses--
	}
	switch {
	case end.Complete() && guesses > 0:
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: incomplete.Guessed}))
		end = frames.StopGuessedRoot
	case !end.Complete():
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: incomplete.Name(end.String())}))
	}
	for method, n := range b.walkMethods {
		b.methods[method] += n
	}
	return b.builder.InternLocs(b.stack), end
}

func (b *stackBuilder) kernelStack(s *observe.RawSample, end frames.StopReason) (sample.StackID, frames.StopReason) {
	b.beginStack()
	b.addKernelFrames(s)
	if len(b.stack) == 0 {
		b.stack = append(b.stack, b.builder.Loc(&profile.Loc{Synthetic: attribute.ExecOrExit}))
	}
	return b.endStack(end)
}
