// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

// Runtimes are a process's runtimes, with rules for code made at run time. A nil one is empty. Not safe for concurrent
// use.
type Runtimes struct {
	arch     frames.Arch
	code     *heuristics.Source
	detected detectedRuntimes
	host     runtimeHost
}

// FuncBounds returns the bounds of the function at pc.
type FuncBounds = func(pc frames.Addr) (start, end frames.Addr, ok bool)

// NewRuntimes is for instructions read by code. *ask, another source of bounds, may be set later.
func NewRuntimes(arch frames.Arch, code heuristics.Code, ask *FuncBounds) *Runtimes {
	r := &Runtimes{arch: arch}
	r.code = heuristics.New(heuristics.Options{Arch: arch, Code: code, Funcs: jitFuncs{&r.detected, ask}, JIT: true})
	return r
}

// SetSources gives a module made at run time the shared sources.
func (r *Runtimes) SetSources(mod *frames.Module) {
	mod.Generated = true
	mod.Sources = []frames.RuleSource{r.code}
	mod.Calls = r.code
}

// Attach finds runtimes among mods and sets their modules' sources.
func (r *Runtimes) Attach(o AddressSpace, mods []*frames.Module) {
	r.host = runtimeHost{AddressSpace: o, arch: r.arch, mods: mods, analysis: r.code}
	r.detected.detect(&r.host)
}

// Starting reports whether a present runtime is not ready: [Process.Refresh] is worthwhile soon.
func (r *Runtimes) Starting() bool { return r != nil && r.detected.starting() }

// Incomplete returns why a present runtime is not read, or nil.
func (r *Runtimes) Incomplete() error {
	if r == nil {
		return nil
	}
	return r.detected.unreadReason()
}

// FrameSources are the runtimes with managed frames.
func (r *Runtimes) FrameSources() []managed.FrameSource {
	if r == nil {
		return nil
	}
	return r.detected.frameSources
}

// Schedulers returns the runtimes with tasks on separate stacks.
func (r *Runtimes) Schedulers() []managed.Scheduler {
	if r == nil {
		return nil
	}
	return r.detected.schedulers
}

// TaskOffsets returns each scheduler's [managed.Scheduler.TaskOffsets].
func (r *Runtimes) TaskOffsets() (out []*managed.TaskOffsets) {
	for _, s := range r.Schedulers() {
		if t := s.TaskOffsets(); t != nil {
			out = append(out, t)
		}
	}
	return out
}

// LeftStacks are the runtimes that find a stack that a thread has left.
func (r *Runtimes) LeftStacks() (out []frames.LeftStack) {
	if r == nil {
		return nil
	}
	for s := range r.detected.found {
		if left, ok := s.(frames.LeftStack); ok {
			out = append(out, left)
		}
	}
	return out
}

// Context returns the labels of the request on which a thread worked, or nil.
func (r *Runtimes) Context(innerTID int, regs *frames.Regs, mem frames.Memory) map[string]string {
	for _, s := range r.FrameSources() {
		if c, ok := s.(managed.ContextSource); ok {
			if labels := c.Context(innerTID, regs, mem); labels != nil {
				return labels
			}
		}
	}
	return nil
}

// Labels returns the labels of the task that a stopped thread ran, or nil.
func (r *Runtimes) Labels(regs *frames.Regs, mem frames.Memory) map[string]string {
	for _, s := range r.Schedulers() {
		if l := s.Labels(regs, mem); l != nil {
			return l
		}
	}
	return nil
}

type jitFuncs struct {
	detected *detectedRuntimes
	fallback *FuncBounds
}

// FuncRange implements heuristics.Functions.
func (f jitFuncs) FuncRange(pc frames.Addr) (start, end frames.Addr, ok bool) {
	if start, end, ok = f.detected.funcRange(pc); ok {
		return start, end, ok
	}
	if *f.fallback == nil {
		return 0, 0, false
	}
	return (*f.fallback)(pc)
}
