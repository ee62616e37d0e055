// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func TestFramesOfPyPyAreExact(t *testing.T) {
	// PyPy frames are supported on amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	testtargets.OnlyInAll(t, "200,000 steps")
	testtargets.NeedProgram(t, "pypy3")
	dir := t.TempDir()
	p := Program{"pypy", 1, []string{"cc", "-shared", "-fPIC", "-o", "OUT", "SRC/pypymark.c"}}
	lib, err := p.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got Tally
	opt := Options{Steps: 200_000, Section: 40_000, Show: 5, Log: t.Logf}
	if err := Run(p.Name, []string{"pypy3", filepath.Join(dir, "src", "pypy.py"), lib}, opt, &got); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	got.Write(&b, 15)
	t.Log("\n" + b.String())
	for _, j := range []Judge{WithCFI, WithCFISP} {
		n, right, wrongs := got.Checked(j)
		t.Logf("%v: %d of %d chains are exact", j, right, n)
		if wrongs > 0 || right == 0 {
			t.Errorf("%v: %d of %d chains are exact, %d wrong, want none wrong", j, right, n, wrongs)
		}
	}
}
