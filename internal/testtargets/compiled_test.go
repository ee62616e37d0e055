// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"path/filepath"
	"testing"
)

// The compiler of this test writes its source, and a line for each of its runs.
func TestAProgramIsCompiledAgainOnlyForWhatItDependsOn(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	compiler, source, runs := filepath.Join(dir, "compiler"), filepath.Join(dir, "a.c"), filepath.Join(dir, "runs")
	if err := WriteExecutable(compiler, []byte("#!/bin/sh\necho >>"+runs+"\ncat \"$2\" >\"$1\"\n")); err != nil {
		t.Fatal(err)
	}
	built := func(text string, more ...string) string {
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file := Compiled{Name: "prog", Sources: []string{source}, Env: more,
			Command: []string{compiler, "OUT", source}}.Build(t)
		got, err := os.ReadFile(file)
		if err != nil || string(got) != text {
			t.Errorf("the program is %q, %v; want %q", got, err, text)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil { // a test may change its copy
			t.Fatal(err)
		}
		lines, _ := os.ReadFile(runs)
		return string(lines)
	}
	built("one")
	if again := built("one"); again != "\n" {
		t.Errorf("the compiler ran %d times for one program, want once", len(again))
	}
	if other := built("other"); other != "\n\n" {
		t.Errorf("the compiler ran %d times for two texts, want twice", len(other))
	}
	if flags := built("one", "CFLAGS=-O2"); flags != "\n\n\n" {
		t.Errorf("the compiler ran %d times, want once more for other flags", len(flags))
	}
	t.Setenv("GOFLAGS", "-other")
	if flags := built("one"); flags != "\n\n\n\n" {
		t.Errorf("the compiler ran %d times, want once more for another environment", len(flags))
	}
}
