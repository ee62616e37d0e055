// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Runtime is a runtime with generated code, a [managed.Runtime].
type Runtime struct {
	managed.Base
	lib   *frames.Module // library or program
	kind  *Kind
	rules *FrameRules
}

// Detect is a [managed.Detector] for generated code of unknown origin.
func Detect(h managed.Host) (managed.Runtime, error) {
	if len(managed.Unowned(h)) == 0 {
		return nil, nil
	}
	lib, kind := find(h)
	if lib == nil {
		return nil, nil
	}
	rules := New(kind, lib, h)
	if rules == nil {
		return nil, nil
	}
	return &Runtime{lib: lib, kind: kind, rules: rules}, nil
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
	if !slices.Contains(h.Modules(), r.lib) {
		return false
	}
	r.rules.Update(h)
	if own := r.rules.File; own != nil && r.lib.Owner == nil {
		r.lib.Owner, r.lib.Sources = r, append([]frames.RuleSource{own}, r.lib.Sources...)
	}
	for _, m := range managed.Unowned(h) {
		r.setSources(m)
	}
	return true
}

func (r *Runtime) setSources(m *frames.Module) {
	if first := r.rules.Early; first != nil {
		m.Sources = append([]frames.RuleSource{first}, m.Sources...)
	}
	if last := r.rules.Late; last != nil {
		m.Sources = append(m.Sources, last)
	}
	m.Owner, m.NoFP = r, true
}
