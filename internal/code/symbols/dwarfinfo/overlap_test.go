// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"testing"
	"time"
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

func TestALookupBetweenTheUnitsInsideAnotherIsNotLinear(t *testing.T) {
	lookups := func(n int) time.Duration {
		d, best := underOneUnit(n), time.Hour
		for range 20 {
			start := time.Now()
			for i := range 50 {
				at := uint64(32*(n-1-i%8) + 4)
				if got := d.Calls(at, nil); len(got) != 1 || got[0].Func.Name != "small" {
					t.Fatalf("%d units: calls at %#x are %+v, want one of a small unit", n, at, got)
				}
				at += 16
				if got := d.Calls(at, nil); len(got) != 1 || got[0].Func.Name != "around" {
					t.Fatalf("%d units: calls at %#x are %+v, want one of the unit around all", n, at, got)
				}
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	few, many := lookups(1<<8), lookups(1<<18)
	t.Logf("100 lookups take %v among 256 units, %v among 262144", few, many)
	if many > 100*few {
		t.Errorf("100 lookups take %v among 256 units and %v among 262144, want less than 100 times as long", few, many)
	}
}
