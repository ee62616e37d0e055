// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"log"
	"os"

	"github.com/google/pprof/profile"

	"prywalk/report"
)

// profile.ParseData reads a profile from a file.
func ExampleFolded() {
	names := []string{"main", "read", "parse"}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}
	for i, name := range names {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		p.Function = append(p.Function, f)
		p.Location = append(p.Location, &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}})
	}
	for _, s := range []struct {
		leaf  int
		nanos int64
	}{{1, 250e6}, {2, 750e6}} {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{p.Location[s.leaf], p.Location[0]},
			Value: []int64{s.nanos}})
	}
	if err := report.Folded(os.Stdout, p, report.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// main;parse 750000000
	// main;read 250000000
}
