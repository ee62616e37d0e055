// SPDX-License-Identifier: Apache-2.0

package gdbjit

import (
	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// Runtime is code that describes itself to debuggers. It implements [managed.Runtime]. Its function bounds are not used
// in instruction analysis: PostgreSQL reuses addresses many times a second, and old bounds break the analysis of new
// code (0.6 % of its stacks).
type Runtime struct {
	managed.Plain
	code *Code
	flow *heuristics.Source
}

// descriptor is the variable that leads to a list (GDB manual, "JIT Compilation Interface").
const descriptor = "__jit_debug_descriptor"

// Detect is a [managed.Detector]: it searches for lists if there is code without a file that no run-time system has
// attached.
func Detect(h managed.Host) (managed.Runtime, error) {
	if len(managed.Unowned(h)) == 0 || len(descriptors(h)) == 0 {
		return nil, nil
	}
	return &Runtime{code: New(Options{Arch: h.Arch(), Read: h.Read, Now: procmem.Now}), flow: h.Flow()}, nil
}

// descriptors gives the addresses of the variables that lead to lists.
func descriptors(h managed.Host) (lists []uint64) {
	for _, m := range h.Modules() {
		for _, s := range h.Own(m, descriptor) {
			if !s.Function && s.Size == descriptorSize {
				lists = append(lists, s.Addr)
			}
		}
	}
	return lists
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "GDB's JIT interface" }

// Attach implements [managed.Runtime]. The lists are queried before the instructions of such code.
func (r *Runtime) Attach(h managed.Host) bool {
	r.code.Follow(descriptors(h))
	r.code.Refresh()
	for _, m := range managed.Unowned(h) {
		m.Sources = []frames.RuleSource{r.code, r.flow}
	}
	return true
}

// Changed implements [managed.Runtime].
func (r *Runtime) Changed() bool { return r.code.Refresh() }

// Dated implements [managed.Runtime]: the bounds of functions are those of a moment.
func (r *Runtime) Dated() bool { return true }

// At implements [managed.Runtime].
func (r *Runtime) At(moment int64, ask bool) bool { return r.code.At(moment, ask) }
