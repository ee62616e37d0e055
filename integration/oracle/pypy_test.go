// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFramesOfPyPyAreExact(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("PyPy frames are supported on amd64 only")
	}
	if _, err := exec.LookPath("pypy3"); err != nil {
		t.Skip("needs pypy3")
	}
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
		if wrongs > 0 || n < 190_000 || j == WithCFI && right < n-n/1000 {
			t.Errorf("%v: %d of %d chains are exact, %d wrong, want all exact", j, right, n, wrongs)
		}
	}
}
