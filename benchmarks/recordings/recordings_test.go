// SPDX-License-Identifier: Apache-2.0

package recordings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

func stack(names ...string) []*profile.Location {
	var locs []*profile.Location
	for _, name := range names {
		l := &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
		if !strings.HasPrefix(name, "[") {
			l.Address, l.Mapping = 0x1000, &profile.Mapping{Start: 0x1000, File: "[anon]"}
		}
		locs = append(locs, l)
	}
	return locs
}

func TestIncompleteStacksAreClassifiedByStopReasonAndModule(t *testing.T) {
	pid := map[string][]int64{"pid": {7}}
	lib := &profile.Mapping{Start: 1, File: "/lib/libjvm.so"}
	call := &profile.Location{Address: 9, Mapping: lib, Line: []profile.Line{{Function: &profile.Function{Name: "call"}}}}
	unnamed := &profile.Location{Address: 0x1000, Mapping: &profile.Mapping{Start: 0x1000, File: "[anon]"}}
	end := stack("[incomplete: no-rule]")[0]
	r := &profile.Profile{Sample: []*profile.Sample{
		{Value: []int64{3, 0, 0, 0}, NumLabel: pid, Location: []*profile.Location{unnamed, end}},
		{Value: []int64{5, 0, 0, 0}, NumLabel: pid, Location: []*profile.Location{unnamed, call, end}},
		{Value: []int64{2, 0, 0, 0}, NumLabel: pid, Location: []*profile.Location{call, unnamed, end}},
		{Value: []int64{90, 0, 0, 0}, NumLabel: pid, Location: []*profile.Location{call}},
	}}
	want := []Class{
		{"no-rule", "libjvm.so: call, caller of code of HotSpot", 5},
		{"no-rule", "code of HotSpot, innermost", 3},
		{"no-rule", "code of HotSpot, caller of libjvm.so: call", 2},
	}
	if got := Classify(r); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	for i := range MaxClasses + 3 {
		reason := "[incomplete: " + strings.Repeat("x", i+1) + "]"
		r.Sample = append(r.Sample, &profile.Sample{Value: []int64{1, 0, 0, 0}, Location: append([]*profile.Location{call},
			stack(reason)...)})
	}
	if got := Classify(r); len(got) != MaxClasses+1 || got[MaxClasses] != (Class{"others", "", 6}) {
		t.Errorf("%+v", got)
	}
}
