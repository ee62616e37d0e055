// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"os"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/walk/managed"
)

func TestUnknownReleaseIsNamedBesideTheKnown(t *testing.T) {
	for _, version := range []string{"2.6.10", "3.5.0", "4.9.0", "13.3.0"} {
		_, err := find(nil, nil, version, 0)
		if want := "version " + version + " of Ruby is not known (" + knownReleases + " are)"; err == nil ||
			err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	named := []managed.Release{207, 300, 301, 302, 303, 304, 400} // those of knownReleases
	if !slices.EqualFunc(layouts, named, func(l layout, r managed.Release) bool { return l.release == r }) {
		t.Errorf("layouts are not those of %s", knownReleases)
	}
	for i := range layouts {
		if l, ok := layoutOf(layouts[i].release.String()); !ok || l.release != layouts[i].release {
			t.Errorf("the layout of %v is that of %v, %v", layouts[i].release, l.release, ok)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil || !strings.Contains(string(doc), "CRuby "+knownReleases+" on x86-64") {
		t.Errorf("doc.go does not name the known releases (%v)", err)
	}
}

// What differs between releases beside offsets (thread_pthread.c, include/ruby/internal/fl_type.h, vm_core.h).
func TestReleasesDiffer(t *testing.T) {
	for _, c := range []struct {
		release        string
		ractors, ppoll bool
		old, joiners   uint64
	}{
		{"2.7", false, true, 3 << 5, 32}, {"3.0", true, true, 3 << 5, 32}, {"3.1", true, true, 3 << 5, 32},
		{"3.2", true, true, 3 << 5, 32}, {"3.3", true, false, 1 << 5, 32}, {"3.4", true, false, 1 << 5, 48},
		{"4.0", true, false, 1 << 5, 48},
	} {
		l, _ := layoutOf(c.release)
		m := &rubyVM{heap: heap{layout: &l}}
		if l.hasRactors() != c.ractors || m.sleepsInPpoll() != c.ppoll || l.oldMask() != c.old || l.joiners() != c.joiners {
			t.Errorf("Ruby %s: %v, %v, %#x, %d; want %+v", c.release, l.hasRactors(), m.sleepsInPpoll(), l.oldMask(),
				l.joiners(), c)
		}
	}
}
