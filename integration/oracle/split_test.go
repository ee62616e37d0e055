// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"maps"
	"strings"
	"testing"
)

func TestColdPartsAreWalkedByInstructions(t *testing.T) {
	file, err := Split.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, parts := exactly(t, Split.Name, file, Options{Steps: 20_000})
	maps.DeleteFunc(parts, func(function string, _ int) bool { return !strings.HasSuffix(function, ".cold") })
	var b strings.Builder
	got.Write(&b, 15)
	t.Log("\n" + b.String())
	if len(parts) < 6 {
		t.Errorf(".cold parts that were stepped through are %v, want at least 6", parts)
	}
}
