// SPDX-License-Identifier: Apache-2.0

package code

import (
	"slices"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

// analysis is the analysis of a file's instructions, with the builtins of run-time systems in it. It implements
// [frames.RuleSource], [frames.CallSites] and the other parts of the analysis.
type analysis struct {
	*heuristics.Source
	builtins []managed.Builtins
	arch     frames.Arch
}

// Rule implements [frames.RuleSource].
func (a *analysis) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.Caller && !q.SPOnly {
		if b := a.continued(q.PC); b != nil {
			if _, called := a.Source.CallBefore(q.PC); !called {
				return b.Rule(a.arch)
			}
		}
	}
	return a.Source.Rule(q)
}

// CallBefore implements [frames.CallSites]. Functions that others return into count as called.
func (a *analysis) CallBefore(ret frames.Addr) (frames.Call, bool) {
	if call, ok := a.Source.CallBefore(ret); ok {
		return call, ok
	}
	return frames.Call{}, a.continued(ret) != nil
}

// continued gives the builtins of a function at pc that others return into; nil if none begins there. Symbols are read
// only if a function begins there.
func (a *analysis) continued(pc frames.Addr) managed.Builtins {
	start, ok := a.FuncStart(pc)
	if !ok || start != pc {
		return nil
	}
	if i := slices.IndexFunc(a.builtins, func(b managed.Builtins) bool { return b.Continues(pc) }); i >= 0 {
		return a.builtins[i]
	}
	return nil
}
