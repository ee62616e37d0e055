// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestTheSameFunctionHasOneName(t *testing.T) {
	for name, want := range map[string]string{
		"prywalk/benchmarks/overhead/load.(*locks).work.func1": "load.(*locks).work.func1",
		"long Load.burnSixty(long)":                            "Load.burnSixty",
		"Load.burnSixty":                                       "Load.burnSixty",
		"void std::__introsort_loop<__gnu_cxx::__normal_iterator<int*, x>, long>(int*, int*)": "std::__introsort_loop",
		"__libc_recv":                           "recv",
		"__GI___libc_write":                     "write",
		"[exited unseen]":                       "[exited unseen]",
		"slices.partitionOrdered[go.shape.int]": "slices.partitionOrdered[go.shape.int]",
		"_":                                     "_",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestADifferenceIsNeverSurerThanItsSamplesAre(t *testing.T) {
	runs := []run{{named: 0.5, samples: 100}, {named: 0.5, samples: 100}}
	mean, variance := meanOf(runs, runs, func(r *run) float64 { return r.named })
	if mean != 0.5 || variance != 0.25/200 {
		t.Errorf("%v, variance %v", mean, variance)
	}
}
