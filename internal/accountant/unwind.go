// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/code"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/profile"
	"prywalk/internal/samestack"
	"prywalk/internal/sample"
)

// unwinder turns shots into stacks of the recording. It belongs to one goroutine.
type unwinder struct {
	builder *profile.Builder
	walker  frames.Walker
	stack   []profile.LocID
	leaves  map[leafKey]sample.StackID
	methods [frames.NumMethods]int64
	numbers [1 << numberBits]numbered
	kernel  map[uint64]profile.LocID // by the kernel's addresses
	// functions are those of the kernel that sleepers are in, by their names.
	functions map[string]profile.LocID
	images    *code.ImageCache // for processes that were never opened
	last      listedProgram    // the one of these that was walked last
	books     books
	managed   managedWalk
	outline   look.Outline // the frames of this walk
	noCode    frames.Addr  // of this walk, the first that is in no module; 0: none
	learner   samestack.Learner
	// walked is told of each walk, for tests; nil.
	walked func(*handover.Process, *look.Shot, sample.StackID, *frames.Walker)
}

// numbered is a location's number, with what it was given for.
type numbered struct {
	module *frames.Module
	addr   frames.Addr
	runs   bool // it runs managed frames
	loc    profile.LocID
}

// numberBits sizes the table of these.
const numberBits = 12

// maxLeaves bounds what is remembered of stacks with a leaf; the recording knows them all the same.
const maxLeaves = 1 << 14

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

// unwind walks a shot and gives its stack, and why the walk ended.
func (u *unwinder) unwind(thr *threadAccount, s *look.Shot) (sample.StackID, frames.StopReason) {
	p := thr.proc
	u.books.lend()
	if p.refreshes.due(s.At, p.Target.Starting()) {
		p.refresh(s.At)
	}
	if end := p.Target.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	p.at(s.At)
	stop := u.walkAgain(thr, s)
	u.books.back()
	p.judge(s, stop, u.walker.Away())
	p.measure(s, stop, &u.walker)
	if p.program != nil {
		p.program.deepest(thr, s, &u.walker)
	}
	id, _ := u.end(stop)
	u.learn(thr, s, stop, id)
	thr.Walks.Walked(p.Target, &u.walker, s, &u.outline)
	if u.walked != nil {
		u.walked(p.Process, s, id, &u.walker)
	}
	return id, stop
}

// learn tells the looks what the walk of a sleeper depends on, once it is met in the same stack again. Managed frames
// depend on more than the stack.
func (u *unwinder) learn(thr *threadAccount, s *look.Shot, stop frames.StopReason, id sample.StackID) {
	if s.How != look.ByPeek {
		return
	}
	var words *samestack.Words
	if target := thr.proc.Target; thr.sleptIn == id+1 && stop.Complete() && !u.walker.Away() && s.MayRecur() &&
		len(target.Namers()) == 0 {
		args := look.ArgumentRegisters(s.Regs.Arch)
		words = u.learner.Learn(target.Space(), &s.Regs, &args, &s.Mem.Stack, &s.Call, thr.Walks.Sleep())
	}
	thr.sleptIn = id + 1
	thr.Walks.Sleeps(s, words)
}

// walkAgain walks a shot. It does so again if that does not reach the end and the mappings turn out to have changed,
// or a JIT compiler has written code meanwhile.
func (u *unwinder) walkAgain(thr *threadAccount, s *look.Shot) frames.StopReason {
	p, methods := thr.proc, u.methods
	stop := u.walk(thr, s)
	for range mostMet {
		if !p.meet(u.lacksCode(), s.At) {
			break
		}
		u.methods = methods
		stop = u.walk(thr, s)
	}
	if stop.Complete() || !p.refreshes.mayHelp(s.At) || !p.refresh(s.At) {
		return stop
	}
	u.methods = methods
	return u.walk(thr, s)
}

// mostMet is how many mappings are met in one stack.
const mostMet = 4

// lacksCode gives an address of code that the walk has met and that is in no module; 0: there was none.
func (u *unwinder) lacksCode() frames.Addr {
	if u.noCode != 0 {
		return u.noCode
	}
	return u.walker.NoCodeAt()
}

// walk fills u.stack with the frames of a shot.
func (u *unwinder) walk(thr *threadAccount, s *look.Shot) frames.StopReason {
	u.stack, u.noCode = u.stack[:0], 0
	u.kernelFrames(s)
	u.outline.Reset()
	p, w := thr.proc, &u.walker
	if namers := p.Target.Namers(); len(namers) > 0 && !s.KernelOnly() {
		return u.walkManaged(thr, s, namers)
	}
	for w.Init(p.Target.Space(), &s.Regs, &s.Mem); w.Next(); {
		f := w.Frame()
		u.methods[f.Method]++
		if w.KernelOnly() {
			u.stack = append(u.stack, u.builder.Loc(&profile.Loc{Synthetic: attribute.NoUserSpace}))
			continue
		}
		if f.Module == nil && u.noCode == 0 {
			u.noCode = f.Lookup(s.Regs.Arch)
		}
		u.stack = append(u.stack, u.location(p, f.Module, f.Lookup(s.Regs.Arch), false))
		u.outline.Add(&f)
	}
	return w.StopReason()
}

// location gives the number of an address in a module. Most were met before: their numbers are kept by address, so that
// neither module nor location is looked up again. machinery: it runs managed frames.
func (u *unwinder) location(p *processAccount, m *frames.Module, addr frames.Addr, machinery bool) profile.LocID {
	n := &u.numbers[addr*0x9e3779b97f4a7c15>>(64-numberBits)] // Fibonacci hashing
	if m == nil || n.module != m || n.addr != addr || n.runs != machinery {
		loc := u.builder.Loc(&profile.Loc{Module: u.module(p, m), Addr: addr, Machinery: machinery})
		*n = numbered{m, addr, machinery, loc}
	}
	return n.loc
}

// withLeaf gives a stack with a synthetic frame inside of it.
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
