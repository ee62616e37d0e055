// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"testing"

	"prywalk/frames"
)

type moduleHost struct {
	Host
	modules []*frames.Module
}

func (h moduleHost) Modules() []*frames.Module { return h.modules }

type foundRuntime struct {
	Runtime
	module string
}

func TestARuntimeIsFoundPastLibrariesThatAreNotUsed(t *testing.T) {
	h := moduleHost{modules: []*frames.Module{{Name: "/lib/unstarted"}, {Name: "/lib/unknown"}, {Name: "/lib/libc.so.6"},
		{Name: "/lib/runs"}, {Name: "/lib/unknown2"}}}
	const unknown = "the functions of Toy in unknown have no names: it is not known"
	for _, c := range []struct {
		from, to int
		found    string
		err      string // without ErrNotYet
		notYet   bool
	}{
		{0, 5, "/lib/runs", "", false},
		{1, 5, "/lib/runs", "", false},
		{0, 1, "", "", true},
		{0, 3, "", unknown, true},
		{1, 3, "", unknown, false},
		{2, 3, "", "", false},
	} {
		h := moduleHost{modules: h.modules[c.from:c.to]}
		r, err := FirstOf(h, "Toy", func(m *frames.Module) (*foundRuntime, bool, error) {
			switch m.Name {
			case "/lib/unstarted":
				return nil, true, ErrNotYet
			case "/lib/runs":
				return &foundRuntime{module: m.Name}, true, nil
			case "/lib/libc.so.6":
				return nil, false, nil
			}
			return nil, true, errors.New("it is not known")
		})
		found := ""
		if r != nil {
			found = r.(*foundRuntime).module
		}
		text := ""
		if err != nil && err != ErrNotYet {
			text = err.Error()
		}
		if found != c.found || text != c.err || errors.Is(err, ErrNotYet) != c.notYet {
			t.Errorf("of modules %d to %d: %q, %v; want %q, %q", c.from, c.to, found, err, c.found, c.err)
		}
	}
}
