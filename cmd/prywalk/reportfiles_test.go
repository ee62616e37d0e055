// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/report"
)

// twoLines has a function with time in two lines.
func twoLines() *pprof.Profile {
	m := &pprof.Mapping{ID: 1, Start: 0x1000, Limit: 0x2000, File: "/usr/bin/kvd"}
	f := &pprof.Function{ID: 1, Name: "serve", Filename: "/src/net.c"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "wall", Unit: "nanoseconds"},
			{Type: "runqueue", Unit: "nanoseconds"}},
		Mapping: []*pprof.Mapping{m}, Function: []*pprof.Function{f}, TimeNanos: 1e18, DurationNanos: 1e9, Period: 1e7,
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}, DefaultSampleType: "cpu",
	}
	for i, values := range [][]int64{{3e7, 3e7, 0}, {2e7, 9e7, 0}} {
		l := &pprof.Location{ID: uint64(i + 1), Mapping: m, Address: uint64(0x1010 + 16*i),
			Line: []pprof.Line{{Function: f, Line: int64(10 + i)}}}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &pprof.Sample{Location: []*pprof.Location{l}, Value: values,
			NumLabel: map[string][]int64{"end_timestamp_ns": {1e18 + 5e8}}})
	}
	return p
}

func TestAFilesFlagsAreThoseWithAnEffect(t *testing.T) {
	t.Parallel()
	for _, form := range fileForms {
		written := func(o report.Options) string {
			var b bytes.Buffer
			if err := form.write(&b, twoLines(), o); err != nil {
				t.Fatalf("--%s: %v", form.flag, err)
			}
			return b.String()
		}
		plain := written(report.Options{})
		if again := written(report.Options{}); again != plain {
			t.Errorf("--%s differs without a flag", form.flag)
		}
		for flag, o := range map[string]report.Options{"value": {Value: "wall"}, "lines": {Lines: true},
			"source-dir": {SourceDir: t.TempDir()}} {
			declared := slices.Contains(strings.Fields(form.with), flag)
			if got := written(o) != plain; got != declared {
				t.Errorf("--%s has an effect on --%s: %v, declared %v", flag, form.flag, got, declared)
			}
		}
	}
}
