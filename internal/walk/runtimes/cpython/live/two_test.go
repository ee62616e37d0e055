// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/watch/target"
)

// sharedLibraries returns a library of Python by its interpreter's prefix, for those that have one.
func sharedLibraries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, exe := range pythons(t) {
		home := filepath.Dir(filepath.Dir(exe))
		for _, pattern := range []string{"lib/libpython3.*.so.1.0", "lib/*-linux-gnu/libpython3.*.so.1.0"} {
			if found, _ := filepath.Glob(filepath.Join(home, pattern)); len(found) > 0 {
				all[home] = found[0]
			}
		}
	}
	if len(all) == 0 {
		t.Skip("needs a shared libpython: one of scripts/setup-pythons.sh, or a Python built with --enable-shared")
	}
	return all
}

func copyOf(t *testing.T, file, name string) string {
	t.Helper()
	from, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	return to.Name()
}

// pythonFunctions returns a sample's functions of Python and its callers in C, outermost first.
func pythonFunctions(s *pprof.Sample) string {
	var names []string
	for _, l := range s.Location {
		for _, ln := range l.Line {
			if n := ln.Function.Name; l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "[CPython") || n == "outer" {
				names = append(names, n)
			}
		}
	}
	slices.Reverse(names)
	return strings.Join(names, " ")
}

func TestTwoLibrariesOfPythonInOneProcess(t *testing.T) {
	program := filepath.Join(t.TempDir(), "two")
	cc := exec.Command("cc", "-g", "-o", program, "testdata/two.c", "-ldl", "-pthread")
	if out, err := bounded.AllOutput(cc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const first, second = "outer <module> first_outer first_leaf", "outer <module> second_outer second_leaf"
	for home, library := range sharedLibraries(t) {
		other := copyOf(t, library, "libpython-other.so")
		for how, want := range map[string][]string{
			"unstarted": {first}, "threads": {first, second}, "turns": {first, second}, "nested": {first + " " + second},
		} {
			t.Run(filepath.Base(library)+" "+how, func(t *testing.T) {
				t.Setenv("PYTHONHOME", home)
				for _, order := range [][]string{{library, other}, {other, library}} {
					cmd, _ := observed.Launch(t, program, append([]string{how}, order...)...)
					prof := observed.Record(t, cmd.Process.Pid, observed.Recording{
						Options: target.SamplingOptions{Freq: 499}, Stops: 120, Kill: true,
					})
					counts, all, named := map[string]int64{}, int64(0), int64(0)
					for _, s := range prof.Sample {
						functions := pythonFunctions(s)
						counts[functions] += s.Value[0]
						if strings.Contains(functions, "outer") {
							all += s.Value[0]
						}
					}
					for _, w := range want {
						named += counts[w]
						if counts[w] == 0 {
							t.Errorf("no sample has %q", w)
						}
					}
					if how != "turns" && 10*named < 9*all { // turns also compile their calls
						t.Errorf("%d of %d samples have the functions of both: %v", named, all, counts)
					}
				}
			})
		}
	}
}
