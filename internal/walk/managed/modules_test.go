// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"prywalk/frames"
)

func TestAModuleIsTheSameAtItsEarlierPlace(t *testing.T) {
	earlier := &frames.Module{Name: "libruby.so", Bias: 1 << 20}
	for _, c := range []struct {
		what string
		m    *frames.Module
		want bool
	}{
		{"none", nil, false},
		{"itself", earlier, true},
		{"read again", &frames.Module{Name: "libruby.so", Bias: 1 << 20}, true},
		{"elsewhere", &frames.Module{Name: "libruby.so", Bias: 2 << 20}, false},
		{"another file", &frames.Module{Name: "libc.so", Bias: 1 << 20}, false},
	} {
		if got := SameModule(c.m, earlier); got != c.want {
			t.Errorf("%s: %t, want %t", c.what, got, c.want)
		}
	}
}

func TestASpanExcludesItsEnd(t *testing.T) {
	for addr, want := range map[uint64]bool{9: false, 10: true, 19: true, 20: false} {
		if got := (Span{10, 20}).Has(addr); got != want {
			t.Errorf("%d in [10, 20): %t", addr, got)
		}
	}
}

func TestReleasesAreOrderedAndNamed(t *testing.T) {
	if r := ReleaseOf(3, 4); r.String() != "3.4" || r != 304 || r >= ReleaseOf(3, 10) || r >= ReleaseOf(4, 0) {
		t.Errorf("%d is %s", r, r)
	}
}

func TestARuntimesKindIsItsLanguages(t *testing.T) {
	for name, want := range map[string]string{"CPython 3.12.1": "cpython", "HotSpot 21": "jvm", "Toy 1": "toy", "": ""} {
		if got := Kind(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
