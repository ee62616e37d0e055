// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"math/bits"
	"testing"
)

func underOneUnit(n int) *Data {
	d := New(Sections{}, nil)
	d.ready = true
	unitOf := func(name string) *unit {
		return &unit{d: d, funcs: &funcTable{
			scopes: []scope{{fn: &Func{Name: name}, parent: -1}}, segments: []segment{{}}}}
	}
	small := unitOf("small")
	d.index = append(d.index, unitRange{lo: 0, hi: uint64(32 * (n + 1)), unit: unitOf("around")})
	for i := range uint64(n) {
		d.index = append(d.index, unitRange{lo: 32 * i, hi: 32*i + 16, unit: small})
	}
	sortRanges(d.index)
	return d
}

// A lookup compares the ranges of maxOverlap units one by one, and then bisects.
func TestALookupBetweenTheUnitsInsideAnotherIsNotLinear(t *testing.T) {
	for _, n := range []int{1 << 8, 1 << 18} {
		d := underOneUnit(n)
		lookup := func(at uint64, want string) {
			before := d.compared
			if got := d.Calls(at, nil); len(got) != 1 || got[0].Func.Name != want {
				t.Fatalf("%d units: calls at %#x are %+v, want one of unit %s", n, at, got, want)
			}
			if compared, most := d.compared-before, int64(maxOverlap+bits.Len(uint(n))); compared > most {
				t.Errorf("%d units: a lookup at %#x compares %d ranges, want at most %d", n, at, compared, most)
			}
		}
		for i := range 8 {
			at := uint64(32*(n-1-i) + 4)
			lookup(at, "small")
			lookup(at+16, "around")
		}
	}
}
