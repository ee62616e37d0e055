// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

func TestFoldedNamesHaveNoSeparator(t *testing.T) {
	p := fixture(t)
	for _, f := range p.Function {
		f.Name = "a;b\nc<" + f.Name + ">"
	}
	var plain, odd strings.Builder
	if err := Folded(&plain, fixture(t), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Folded(&odd, p, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{";", "\n"} {
		if got, want := strings.Count(odd.String(), c), strings.Count(plain.String(), c); got != want {
			t.Errorf("%d of %q, want %d: %s", got, c, want, odd.String())
		}
	}
	if !strings.Contains(odd.String(), "a:b") {
		t.Errorf("no a:b in %s", odd.String())
	}
}
