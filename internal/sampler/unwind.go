package sampler

import (
	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/look"
	"prywalk/internal/profile"
)

// The list of a process's mappings is read anew when a stack does not reach its
// end, but not within refreshAfter ns, nor so often that it takes more than one
// part in refreshShare of a processor; and every refreshEvery ns in any case: memory
// that was unmapped and mapped anew does not show in any stack.
const (
	refreshAfter = 1e6
	refreshShare = 20
	refreshEvery = 2e9
)

// unwinder turns shots into stacks of the recording. It belongs to one goroutine.
type unwinder struct {
	builder *profile.Builder
	walker  frames.Walker
	locs    []profile.Loc
	modules map[*frames.Module]*profile.ModuleInfo
	leaves  map[leafKey]profile.StackID
	methods [frames.NumMethods]int64
	trails  trails
	// known are the frames of this walk that were not walked, and come behind the first
	// inner ones of locs.
	known   profile.Part
	inner   int
	books   books
	outline look.Outline                                // the frames of this walk that were walked
	check   func(*process, *look.Shot, profile.StackID) // told of each walk, for tests; nil
}

type leafKey struct {
	stack profile.StackID
	leaf  string
}

func newUnwinder(b *profile.Builder, maxDepth int) *unwinder {
	u := &unwinder{
		builder: b,
		modules: map[*frames.Module]*profile.ModuleInfo{},
		leaves:  map[leafKey]profile.StackID{},
		trails:  trails{threads: map[*thread]struct{}{}, from: trailDepth},
	}
	u.walker.MaxDepth = maxDepth
	return u
}

// unwind walks a shot and gives its stack, and why the walk ended.
func (u *unwinder) unwind(thr *thread, s *look.Shot) (profile.StackID, frames.StopReason) {
	p, th := thr.proc, thr.look
	u.books.lend()
	if s.At-p.refreshed > refreshEvery {
		p.refresh(s.At)
	}
	if end := p.target.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	stop := u.walkAgain(p, thr.trail, s)
	u.books.back()
	outline := &u.outline
	if u.known.N > 0 {
		outline = nil
	}
	th.Walked(p.target, &u.walker, s, outline)
	depth := len(u.locs) + u.known.N
	if !stop.Complete() {
		u.locs = append(u.locs, profile.Loc{Synthetic: "[incomplete: " + stop.String() + "]"})
	}
	id := u.builder.InternAround(u.locs[:u.inner], u.known, u.locs[u.inner:])
	if u.check != nil {
		u.check(p, s, id)
	}
	u.trails.update(thr, id, depth, u.known.N, s.At)
	return id, stop
}

// walkAgain walks a shot, and does so again if that does not reach the end, and the mappings, or code that a JIT
// compiler has written meanwhile, turn out to have changed.
func (u *unwinder) walkAgain(p *process, t *trail, s *look.Shot) frames.StopReason {
	methods := u.methods
	stop := u.walk(p, t, s)
	if stop.Complete() || s.At-p.refreshed <= max(refreshAfter, refreshShare*p.refreshCost) || !p.refresh(s.At) {
		return stop
	}
	u.methods = methods
	if t != nil {
		t.Reset() // no stack was made of the walk before
	}
	return u.walk(p, t, s)
}

// walk fills u.locs with the frames of a shot, and u.known with those that the thread's trail,
// if it has one, has saved.
func (u *unwinder) walk(p *process, t *trail, s *look.Shot) frames.StopReason {
	u.locs, u.known = u.locs[:0], profile.Part{}
	u.outline.Reset()
	w := &u.walker
	if t == nil {
		for w.Init(p.target.Space(), &s.Regs, &s.Mem); w.Next(); {
			u.add(p, s)
		}
		u.inner = len(u.locs)
		return w.StopReason()
	}
	for t.Init(w, p.target.Space(), &s.Regs, &s.Mem); t.Next(); {
		u.add(p, s)
		if t.Join() {
			u.skip(t)
		}
	}
	if u.known.N == 0 {
		u.inner = len(u.locs)
	}
	return w.StopReason()
}

// add appends the walker's current frame.
func (u *unwinder) add(p *process, s *look.Shot) {
	f := u.walker.Frame()
	u.methods[f.Method]++
	u.locs = append(u.locs, profile.Loc{Module: u.module(p, f.Module), Addr: f.Lookup(s.Regs.Arch)})
	u.outline.Add(&f)
}

// skip takes the frames that a trail has skipped from the stack of the thread's last walk.
func (u *unwinder) skip(t *trail) {
	skipped := t.Skipped()
	u.known = profile.Part{Stack: t.stack, From: skipped.From, N: skipped.N}
	u.inner = len(u.locs)
	for m, n := range skipped.Methods {
		u.methods[m] += int64(n)
	}
}

// module gives the recording's description of a module.
func (u *unwinder) module(p *process, m *frames.Module) *profile.ModuleInfo {
	if m == nil {
		return nil
	}
	info := u.modules[m]
	if info == nil {
		info = moduleInfo(p.target, m)
		u.modules[m] = info
	}
	return info
}

// moduleInfo describes a module for the recording.
func moduleInfo(p *code.Process, m *frames.Module) *profile.ModuleInfo {
	info := &profile.ModuleInfo{Start: m.Start, End: m.End, Bias: m.Bias, Path: m.Name, BuildID: m.BuildID, Data: ModuleRef{m, p.PID}}
	if at, ok := m.Data.(*code.Mapping); ok {
		info.FileOffset = at.Offset
		if at.JIT {
			info.Owner = p.PID
		}
	}
	return info
}

// withLeaf gives a stack with a synthetic frame inside of it.
func (u *unwinder) withLeaf(id profile.StackID, leaf string) profile.StackID {
	if leaf == "" {
		return id
	}
	k := leafKey{id, leaf}
	if with, ok := u.leaves[k]; ok {
		return with
	}
	with := u.builder.InternLeaf(id, leaf)
	u.leaves[k] = with
	return with
}

// ModuleRef is the Data of the recording's modules: the module as it was walked,
// and a process in which it was seen.
type ModuleRef struct {
	Module *frames.Module
	PID    int
}
