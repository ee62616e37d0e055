// SPDX-License-Identifier: Apache-2.0

package gdbjit

import "prywalk/internal/managed"

// Runtime is code registered by GDB's JIT interface. It has no FuncRange: outdated bounds break the analysis of
// instructions.
type Runtime struct {
	managed.Base
	code *Code
}

var _ managed.CodeHistory = (*Runtime)(nil)

// Symbols are the names that [Detect] asks of each module.
var Symbols = []string{"__jit_debug_descriptor"}

// Detect implements [managed.Detector]. Lists are searched for only if there is code of unknown origin.
func Detect(h managed.Host) (managed.Runtime, error) {
	if len(managed.Unowned(h)) == 0 || len(descriptors(h)) == 0 {
		return nil, nil
	}
	return &Runtime{code: New(h)}, nil
}

func descriptors(h managed.Host) (lists []uint64) {
	for _, m := range h.Modules() {
		for _, s := range h.OwnSymbols(m, Symbols...) {
			if !s.Function && s.Size == descriptorSize {
				lists = append(lists, s.Addr)
			}
		}
	}
	return lists
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return "GDB's JIT interface" }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	r.code.follow(descriptors(h))
	r.code.Refresh()
	for _, m := range managed.Unowned(h) {
		managed.AddSource(m, r.code)
	}
	return true
}

// Changed implements [managed.Runtime].
func (r *Runtime) Changed() bool { return r.code.Refresh() }

// SetTime implements [managed.CodeHistory].
func (r *Runtime) SetTime(at int64, mayRead bool) bool { return r.code.SetTime(at, mayRead) }
