// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Runtime is a runtime with generated code, a [managed.Runtime]. A nil source has no rules.
type Runtime struct {
	managed.Base
	kind    *Kind
	process process
	// Early is asked before the analysis of instructions, Late after it.
	Early, Late frames.RuleSource
	// File is for the runtime's file, where call frame information is wrong.
	File frames.RuleSource

	forget func() // drops what other mappings make invalid, or nil
}

// Detect is a [managed.Detector] for generated code of unknown origin.
func Detect(h managed.Host) (managed.Runtime, error) {
	if len(managed.Unowned(h)) == 0 {
		return nil, nil
	}
	if lib, kind := find(h); lib != nil {
		if r := New(kind, lib, h); r != nil {
			return r, nil
		}
	}
	return nil, nil
}

// New returns the runtime of module lib; nil if unknown.
func New(k *Kind, lib *frames.Module, h managed.Host) *Runtime {
	r := &Runtime{kind: k, process: process{host: h, lib: lib}}
	if k.Entry != "" {
		if s := h.OwnSymbols(lib, k.Entry); len(s) > 0 {
			r.process.entry = s[0].Addr
		}
	}
	if h.Arch() != frames.X86_64 || !k.find(r) {
		return nil
	}
	return r
}

// Symbols are the names that [Detect] asks of each module.
var Symbols = func() (all []string) {
	for _, k := range kinds {
		all = append(all, k.Marker)
	}
	return all
}()

func find(h managed.Host) (*frames.Module, *Kind) {
	for _, m := range h.Modules() {
		for _, s := range h.OwnSymbols(m, Symbols...) {
			i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Marker == s.Name })
			if i >= 0 && s.Function && s.Exported {
				return m, kinds[i]
			}
		}
	}
	return nil, nil
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string { return r.kind.Name }

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	lib := r.process.lib
	if !slices.Contains(h.Modules(), lib) {
		return false
	}
	r.update(h)
	if r.File != nil && lib.Owner == nil {
		lib.Owner, lib.Sources = r, append([]frames.RuleSource{r.File}, lib.Sources...)
	}
	for _, m := range managed.Unowned(h) {
		if r.Early != nil {
			m.Sources = append([]frames.RuleSource{r.Early}, m.Sources...)
		}
		if r.Late != nil {
			m.Sources = append(m.Sources, r.Late)
		}
		m.Owner, m.NoFP = r, true
	}
	return true
}

// update sets the current mappings and invalidates earlier rules.
func (r *Runtime) update(h managed.Host) {
	if r.process.host = h; r.forget != nil {
		r.forget()
	}
}
