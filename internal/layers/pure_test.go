// SPDX-License-Identifier: Apache-2.0

package layers

import (
	"slices"
	"testing"
)

// pure packages read no clock, file or process, and draw no random number: a replayed stream of events gives the same
// intervals (internal/account/attribute/replay_test.go).
var pure = []string{"internal/account/attribute", "internal/base/sample", "frames"}

// pureStandard are the packages that they import. Time is passed in, as nanoseconds.
var pureStandard = []string{
	"cmp", "encoding/binary", "encoding/json", "io", "maps", "math", "math/bits", "reflect", "slices", "sort",
}

func TestAttributionReadsNoClock(t *testing.T) {
	seen, needed := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !slices.Contains(pure, s.pkg) {
			continue
		}
		seen[s.pkg] = true
		for _, path := range s.imports() {
			if needed[path] = true; !pureImport(path) {
				t.Errorf("%s imports %s: its result could depend on more than its input", s.path, path)
			}
		}
	}
	for _, pkg := range pure {
		if !seen[pkg] {
			t.Errorf("no source of %s was read", pkg)
		}
	}
	used(t, pureStandard, needed, "pureStandard")
	for _, path := range []string{"time", "os", "math/rand/v2", module + "/internal/host/procmem",
		"golang.org/x/sys/unix"} {
		if pureImport(path) {
			t.Errorf("%s may be imported", path)
		}
	}
}

func pureImport(path string) bool {
	return slices.Contains(pureStandard, path) ||
		slices.ContainsFunc(pure, func(pkg string) bool { return path == module+"/"+pkg })
}
