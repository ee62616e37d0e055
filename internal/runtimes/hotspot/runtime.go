// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"path/filepath"
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

// Runtime is the Java virtual machine of a process, a [managed.FrameSource].
type Runtime struct {
	managed.Base
	managed.BaseThreads
	lib            *frames.Module
	host           managed.Host
	vm             *VM // nil: not readable yet
	analysis       *heuristics.Source
	tries          int
	openError      error
	startupSources []*startupSource
	// refused: a walk ended because the machine was starting.
	refused bool
}

const maxTries = 8

const libjvm = "libjvm.so"

// Detect is a [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	lib := findJVM(h.Modules())
	if lib == nil {
		return nil, nil
	}
	return &Runtime{lib: lib, analysis: h.Analysis()}, nil
}

func findJVM(mods []*frames.Module) *frames.Module {
	for _, m := range mods {
		if filepath.Base(m.Name) == libjvm {
			return m
		}
	}
	return nil
}

// Attach implements [managed.Runtime]. A [startupSource] decides on code of unknown origin.
func (r *Runtime) Attach(h managed.Host) bool {
	mods := h.Modules()
	if lib := findJVM(mods); lib != r.lib {
		return false
	}
	r.host = h
	r.startupSources = slices.DeleteFunc(r.startupSources, func(g *startupSource) bool {
		return !slices.Contains(mods, g.module) || !g.inUse()
	})
	r.tryOpen()
	for _, m := range mods {
		if m.Generated && m.Owner == nil && !r.hasStartupSource(m) {
			g := &startupSource{runtime: r, module: m, otherSources: m.Sources}
			m.Sources = []frames.RuleSource{g}
			r.startupSources = append(r.startupSources, g)
		}
	}
	for _, g := range r.startupSources {
		g.decideOwner()
	}
	return true
}

func (r *Runtime) tryOpen() {
	if r.vm == nil && r.tries < maxTries {
		r.tries++
		r.vm, r.openError = r.open(r.host)
	}
}

func (r *Runtime) open(h managed.Host) (*VM, error) {
	o := Options{
		Arch: h.Arch(),
		Symbol: func(name string) (uint64, bool) {
			addr, _, ok := h.Symbol(r.lib, name)
			return addr, ok
		},
		Read:     h.Read,
		ReadCode: h.ReadCode,
	}
	if r.analysis != nil { // a nil *Source in Analysis would not be nil
		o.Analysis = r.analysis
	}
	if g, ok := h.(managed.Gatherer); ok {
		o.ReadParts = g.ReadParts
	}
	return New(o)
}

// Name implements [managed.Runtime], such as "HotSpot 17.0.15".
func (r *Runtime) Name() string {
	if r.vm == nil {
		return productName
	}
	return r.vm.Version()
}

// Incomplete gives why the machine's code is not read or has no names, or nil.
func (r *Runtime) Incomplete() error {
	if r.vm == nil {
		return r.openError
	}
	if err := r.vm.Incomplete(); err != nil {
		return err
	}
	return r.vm.Names().Incomplete()
}

// Changed implements [managed.Runtime].
func (r *Runtime) Changed() bool {
	if r.retryRefused() {
		return true
	}
	return r.vm != nil && r.vm.Changed()
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	if r.vm != nil {
		r.vm.Forget()
		r.vm.Names().Forget()
	}
}

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	if r.vm != nil {
		r.vm.Names().Begin(s)
	}
}

// ManagedFrames implements [managed.FrameSource].
func (r *Runtime) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	if r.vm == nil || f.Module == nil || !f.Module.Generated {
		return out, false
	}
	return r.vm.Names().ManagedFrames(f, cfa, out)
}

// End implements [managed.FrameSource].
func (r *Runtime) End() managed.Health { return managed.Matched }

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	return r.names().Symbolize(ref, l, out)
}

// ThreadName implements [managed.Threads].
func (r *Runtime) ThreadName(tid int) (string, bool) { return r.names().ThreadName(tid) }

// Role implements [managed.Threads].
func (r *Runtime) Role(tid int, name string) (string, bool) { return r.names().Role(tid, name) }

// Waiting implements [managed.Threads].
func (r *Runtime) Waiting(q *managed.WaitQuery) (managed.WaitAnswer, bool) {
	return r.names().Waiting(q)
}

// Postponed implements [managed.Threads].
func (r *Runtime) Postponed() (was bool) {
	if n := r.names(); n != nil {
		was, n.threads.postponed = n.threads.postponed, false
	}
	return was
}

// names gives nil, which has no answers, while the machine is not read.
func (r *Runtime) names() *Names {
	if r.vm == nil {
		return nil
	}
	return r.vm.Names()
}

// Rule implements [frames.RuleSource].
func (r *Runtime) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.vm == nil {
		return frames.Rule{}, nil, false
	}
	if rule, row, ok := r.vm.Rule(q); ok {
		return rule, row, true
	}
	if pc, ok := r.vm.AfterRestore(q); ok {
		rule, row, ok := r.byInstructions(frames.Query{PC: pc})
		return rule, row, ok && row == nil && rule.CFAReg == frames.X86RBP
	}
	return frames.Rule{}, nil, false
}

// byInstructions gives the rule by the host's analysis of instructions, if it has one.
func (r *Runtime) byInstructions(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.analysis == nil {
		return frames.Rule{}, nil, false
	}
	return r.analysis.Rule(q)
}

// Blob names the code blob at pc.
func (r *Runtime) Blob(pc uint64) string {
	if r.vm == nil {
		return ""
	}
	return r.vm.blobName(pc)
}

type routineSource struct{ *Runtime }

// Rule implements [frames.RuleSource].
func (r routineSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if r.vm == nil {
		return frames.Rule{}, nil, false
	}
	return r.vm.Routine(q)
}

// FuncRange implements [heuristics.Functions].
func (r *Runtime) FuncRange(pc uint64) (start, end uint64, ok bool) {
	if r.vm == nil {
		return 0, 0, false
	}
	return r.vm.FuncRange(pc)
}
