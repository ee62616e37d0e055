// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type owningRuntime struct {
	fakeRuntime
	lostAfter int
}

func (s *owningRuntime) Attach(h managed.Host) bool {
	for _, m := range managed.Unowned(h) {
		m.Owner, m.NoFP, m.Sources = s, true, []frames.RuleSource{noRules{}}
	}
	s.lostAfter--
	return s.lostAfter >= 0
}

func TestCodeOfALostRuntimeIsReleased(t *testing.T) {
	for _, c := range []struct {
		name     string
		attached int
	}{{"lost while it is detected", 0}, {"lost at the second reading", 1}} {
		lost := &owningRuntime{lostAfter: c.attached}
		detected := false
		f, _ := detecting(t, func(managed.Host) (managed.Runtime, error) {
			if detected {
				return nil, nil
			}
			detected = true
			return lost, nil
		})
		flow := &heuristics.Source{}
		m := &frames.Module{Generated: true, Sources: []frames.RuleSource{flow}, Calls: flow}
		h := &runtimeHost{mods: []*frames.Module{m}, analysis: flow}
		for range 1 + c.attached {
			f.detect(h)
		}
		if m.Owner != nil || m.NoFP || len(m.Sources) != 1 || m.Sources[0] != frames.RuleSource(flow) {
			t.Errorf("%s: the module is %+v, want it without an owner and as before", c.name, m)
		}
		if !f.unowned {
			t.Errorf("%s: no code is known to be unowned", c.name)
		}
	}
}

type noRules struct{}

func (noRules) Rule(frames.Query) (frames.Rule, *frames.Row, bool) { return frames.Rule{}, nil, false }
