// SPDX-License-Identifier: Apache-2.0

package incomplete

import (
	"strings"
	"testing"

	"prywalk/frames"
)

func TestEveryStopReasonHasARemedy(t *testing.T) {
	for s := frames.StopRoot + 1; s < frames.NumStopReasons; s++ {
		name := Name(s.String())
		if reason, ok := Reason(name); !ok || reason != s.String() || Remedy(reason, "") == "" {
			t.Errorf("%s: reason %q, %v, cure %q", name, reason, ok, Remedy(reason, ""))
		}
	}
	if !strings.Contains(Remedy("depth", ""), "--max-depth") {
		t.Error("the cure for deep stacks does not name --max-depth")
	}
	if cure := Remedy("no-rule", "libx.so"); !strings.Contains(cure, "libx.so") ||
		!strings.Contains(cure, "debug symbols") {
		t.Errorf("code of a file: %q", cure)
	}
	if cure := Remedy("no-rule", "[anon]"); strings.Contains(cure, "debug symbols") {
		t.Errorf("code without a file has no debug symbols: %q", cure)
	}
	if cure := Remedy("no-rule", Unmapped); !strings.Contains(cure, "no known mapping") ||
		strings.Contains(cure, "debug symbols") {
		t.Errorf("code of no known file: %q", cure)
	}
	if cure := Remedy("no-rule", AnyCode); strings.Contains(cure, "debug symbols") {
		t.Errorf("code of several files: %q", cure)
	}
	if _, ok := Reason("[not observed]"); ok {
		t.Error("another synthetic frame has a reason")
	}
}

func TestStrippedHaskellProgramHasARemedy(t *testing.T) {
	got := Remedy("no-rule", "pandoc")
	for _, want := range []string{"of pandoc", "before strip", "Haskell", "debug symbols", "prywalk help names"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := Remedy("no-rule", "[anon]"); strings.Contains(got, "strip") {
		t.Errorf("code that was made at run time has no file: %q", got)
	}
}

// A report does not know the flags of record.
func TestRemediesByFlagsAreConditional(t *testing.T) {
	for reason, want := range map[string][]string{
		"unproven":   {"if --read-only or --max-pause was given, record without it, else nothing helps"},
		"stack-cut":  {"if --max-pause was given, record without it", "if the kernel took the samples, with --engine ptrace"},
		"bad-memory": {"if the kernel took the samples, compare with record --engine ptrace"},
	} {
		for _, w := range want {
			if got := Remedy(reason, "libx.so"); !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", reason, got, w)
			}
		}
	}
}
