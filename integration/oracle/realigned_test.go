// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"runtime"
	"testing"

	"prywalk/internal/testtargets"
)

func TestFramesOfRealignedStacksAreExact(t *testing.T) {
	// This kind of realignment is of gcc for amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	p := Program{"realigned", 1, []string{"gcc", "-w", "-O2", "-mstackrealign", "-o", "OUT", "SRC/realigned.c"}}
	file, err := p.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var got Tally
	steps := testtargets.Times(4_000, 20_000)
	opt := Options{Steps: steps, Section: 20_000, Show: 5, Log: t.Logf}
	if err := Run(p.Name, []string{file}, opt, &got); err != nil {
		t.Fatal(err)
	}
	if n, right, _ := got.Checked(WithCFI); right != n || n == 0 {
		t.Errorf("with call frame information %d of %d chains are exact, want all", right, n)
	}
	for _, j := range []Judge{WithBounds, Bare} {
		if n, right, wrongs := got.Checked(j); right != n {
			t.Errorf("%v: %d of %d chains are exact, %d wrong, want none wrong", j, right, n, wrongs)
		}
	}
}
