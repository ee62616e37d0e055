// SPDX-License-Identifier: Apache-2.0

package sourcelines

import (
	"regexp"
	"testing"

	"github.com/google/pprof/profile"
)

func TestNamesakesWithEqualValuesAreInTheProfilesOrder(t *testing.T) {
	p := &profile.Profile{}
	for line := range int64(16) {
		f := &profile.Function{Name: "f", Filename: "f.c"}
		p.Function = append(p.Function, f)
		p.Sample = append(p.Sample, &profile.Sample{Value: []int64{1},
			Location: []*profile.Location{{Line: []profile.Line{{Function: f, Line: line}}}}})
	}
	for i, f := range Functions(p, regexp.MustCompile("f"), 0) {
		if f.ByLine[int64(i)] == nil {
			t.Fatalf("function %d has the lines %v", i, f.ByLine)
		}
	}
}
