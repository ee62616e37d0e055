// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

// Runtimes are a process's runtimes, with rules for code made at run time; the zero value has none. Not safe for
// concurrent use.
type Runtimes struct {
	arch     frames.Arch
	code     *heuristics.Source
	ask      *FuncBounds
	detected detectedRuntimes
	host     runtimeHost
}

// FuncBounds returns the bounds of the function at pc.
type FuncBounds = func(pc frames.Addr) (start, end frames.Addr, ok bool)

// Init begins for instructions read by code. *ask, another source of bounds, may be set later.
func (r *Runtimes) Init(arch frames.Arch, code heuristics.Code, ask *FuncBounds) {
	r.arch, r.ask = arch, ask
	r.code = heuristics.New(heuristics.Options{Arch: arch, Code: code, Funcs: r, JIT: true})
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
func (r *Runtimes) Starting() bool { return r.detected.starting() }

// Incomplete returns why a present runtime is not read, or nil.
func (r *Runtimes) Incomplete() error { return r.detected.unreadReason() }

// FrameSources are the runtimes with managed frames.
func (r *Runtimes) FrameSources() []managed.FrameSource { return r.detected.frameSources }

// Schedulers returns the runtimes with tasks on separate stacks.
func (r *Runtimes) Schedulers() []managed.Scheduler { return r.detected.schedulers }

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

// FuncRange implements heuristics.Functions for code made at run time.
func (r *Runtimes) FuncRange(pc frames.Addr) (start, end frames.Addr, ok bool) {
	for found := range r.detected.found {
		if start, end, ok = found.FuncRange(pc); ok {
			return start, end, ok
		}
	}
	if r.ask == nil || *r.ask == nil { // nil after it is closed
		return 0, 0, false
	}
	return (*r.ask)(pc)
}
