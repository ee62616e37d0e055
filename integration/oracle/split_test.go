package oracle

import (
	"runtime"
	"strings"
	"testing"
)

func TestColdPartsAreWalkedByTheInstructionsOfTheirFunctions(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("there are unwinding rules for amd64 and arm64 only")
	}
	file, err := Split.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var got Tally
	parts := map[string]int{}
	each := func(function string) {
		if strings.HasSuffix(function, ".cold") {
			parts[function]++
		}
	}
	if err := Run(Split.Name, []string{file}, Options{Steps: 20_000, Show: 3, Log: t.Logf, Each: each}, &got); err != nil {
		t.Fatal(err)
	}
	for _, j := range []Judge{WithCFI, WithBounds} {
		if n, right, _ := got.Checked(j); right != n || n == 0 {
			t.Errorf("%v: %d of %d chains are exact", j, right, n)
		}
	}
	if _, _, wrongs := got.Checked(WithCFISP); wrongs > 0 {
		t.Errorf("with only sp and pc known %d chains are wrong", wrongs)
	}
	var b strings.Builder
	got.Write(&b, 15)
	t.Log("\n" + b.String())
	if len(parts) < 6 {
		t.Errorf("parts that were stepped through: %v", parts)
	}
}
