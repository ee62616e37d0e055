// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type builtinsSource struct {
	*heuristics.Source
	builtins []managed.Builtins
	arch     frames.Arch
}

// Rule implements [frames.RuleSource].
func (s *builtinsSource) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall && !q.SPOnly {
		if b := s.builtinsAt(q.PC); b != nil {
			if _, called := s.Source.CallBefore(q.PC); !called {
				return b.Rule(s.arch)
			}
		}
	}
	return s.Source.Rule(q)
}

// CallBefore implements [frames.CallSites]. A builtin that is returned into counts as called.
func (s *builtinsSource) CallBefore(ret frames.Addr) (frames.Call, bool) {
	if call, ok := s.Source.CallBefore(ret); ok {
		return call, ok
	}
	return frames.Call{}, s.builtinsAt(ret) != nil
}

// builtinsAt returns the builtins with a function at pc that is returned into, or nil.
func (s *builtinsSource) builtinsAt(pc frames.Addr) managed.Builtins {
	start, ok := s.FuncStart(pc)
	if !ok || start != pc {
		return nil
	}
	if i := slices.IndexFunc(s.builtins, func(b managed.Builtins) bool { return b.Continues(pc) }); i >= 0 {
		return s.builtins[i]
	}
	return nil
}
