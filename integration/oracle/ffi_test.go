// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestFramesOfLibffiAreExact(t *testing.T) {
	// Ffi_call_unix64 is libffi's on amd64 only.
	testtargets.Need(t, runtime.GOARCH == "amd64", "amd64", "a machine with such a processor")
	p := Program{"ffi", 1, []string{"cc", "-w", "-O2", "-o", "OUT", "SRC/ffi.c", "-ldl"}}
	testtargets.NeedProgram(t, "cc")
	file, err := p.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command(file, "check")); err != nil {
		t.Logf("%v: %s", err, out)
		testtargets.Need(t, false, "libffi.so.8", testtargets.SetUp)
	}
	var got Tally
	opt := Options{Steps: testtargets.Times(4_000, 40_000), Section: 20_000, Show: 5, Log: t.Logf}
	if err := Run(p.Name, []string{file}, opt, &got); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	got.Write(&b, 15)
	t.Log("\n" + b.String())
	if n, right, _ := got.Checked(WithCFI); right != n || n == 0 {
		t.Errorf("with call frame information %d of %d chains are exact, want all", right, n)
	}
	if _, _, wrongs := got.Checked(WithCFISP); wrongs > 0 {
		t.Errorf("with only sp and pc known %d chains are wrong, want none", wrongs)
	}
	if got.moved == 0 || got.strayed > 0 {
		t.Errorf("%d returns by moved addresses, %d to unexpected places; want some, and none", got.moved, got.strayed)
	}
}
