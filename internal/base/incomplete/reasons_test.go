// SPDX-License-Identifier: Apache-2.0

package incomplete

import (
	"strings"
	"testing"

	"prywalk/frames"
)

func TestEveryStopReasonHasARemedy(t *testing.T) {
	for s := frames.StopRoot + 1; s < frames.NumStopReasons; s++ {
		if s.Complete() {
			continue
		}
		name := Name(s.String())
		if reason, ok := Reason(name); !ok || reason != s.String() || remedy(reason, "") == "" {
			t.Errorf("%s: reason %q, %v, cure %q", name, reason, ok, remedy(reason, ""))
		}
	}
	if !strings.Contains(remedy("depth", ""), "--max-depth") {
		t.Error("the cure for deep stacks does not name --max-depth")
	}
	if cure := remedy("no-rule", "libx.so"); !strings.Contains(cure, "libx.so") ||
		!strings.Contains(cure, "debug symbols") {
		t.Errorf("code of a file: %q", cure)
	}
	if cure := remedy("no-rule", "[anon]"); strings.Contains(cure, "debug symbols") {
		t.Errorf("code without a file has no debug symbols: %q", cure)
	}
	if cure := remedy("no-rule", Unmapped); !strings.Contains(cure, "no known mapping") ||
		strings.Contains(cure, "debug symbols") {
		t.Errorf("code of no known file: %q", cure)
	}
	if cure := remedy("no-rule", AnyCode); strings.Contains(cure, "debug symbols") {
		t.Errorf("code of several files: %q", cure)
	}
	if _, ok := Reason("[not observed]"); ok {
		t.Error("another synthetic frame has a reason")
	}
}

func TestStrippedProgramHasARemedy(t *testing.T) {
	got := remedy("no-rule", "kvd")
	for _, want := range []string{"of kvd", "before strip", "debug symbols", "prywalk help names"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "Haskell") {
		t.Errorf("a symbol table does not lead through Haskell's stacks: %q", got)
	}
	if got := remedy("no-rule", "[anon]"); strings.Contains(got, "strip") {
		t.Errorf("code that was made at run time has no file: %q", got)
	}
}

func TestRemediesSayWhatIsTrueForOtherStacksAndForGo(t *testing.T) {
	got := remedy("bad-memory", "ocaml")
	for _, want := range []string{"another stack", "a dump reads it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := remedy("no-rule", "server"); !strings.Contains(got, "Go's stacks need no symbol table, but the function") {
		t.Errorf("strip takes nothing from a Go program that its stacks need: %q", got)
	}
}

// A report does not know the flags of record.
func TestRemediesByFlagsAreConditional(t *testing.T) {
	for reason, want := range map[string][]string{
		"unproven":   {"if --read-only was given, record without it, else with a longer --max-pause"},
		"stack-cut":  {"with a longer --max-pause, or with off", "if the kernel took the samples, with --engine ptrace"},
		"bad-memory": {"if the kernel took the samples, compare with record --engine ptrace"},
	} {
		for _, w := range want {
			if got := remedy(reason, "libx.so"); !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", reason, got, w)
			}
		}
	}
}
