// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func TestFramesOfHaskellAreExact(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("Haskell frames are supported on amd64 only")
	}
	if _, err := exec.LookPath("ghc"); err != nil {
		t.Skip("needs ghc")
	}
	p := Program{"haskell", 1, []string{"ghc", "-v0", "-O", "-rtsopts", "-o", "OUT", "SRC/haskell.hs",
		"SRC/haskellmark.c"}}
	file, err := p.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var got Tally
	opt := Options{Steps: 200_000, Section: 40_000, Show: 5, Log: t.Logf}
	if err := Run(p.Name, []string{file, "+RTS", "-V0"}, opt, &got); err != nil {
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
