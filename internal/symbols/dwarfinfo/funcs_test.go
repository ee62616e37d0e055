// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"slices"
	"testing"
)

func TestNestedRangesAreFlattened(t *testing.T) {
	const main, f = 0, 1
	scopes := []scope{{parent: -1, root: main}, {parent: main, root: main}}
	got := flatten([]span{{lo: 0x20, hi: 0x30, scope: f, depth: 1}, {lo: 0x10, hi: 0x40, scope: main}}, scopes)
	if want := []segment{{0x10, main}, {0x20, f}, {0x30, main}, {0x40, -1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestEachStandardOfCPlusPlusIsKnown(t *testing.T) {
	standards := map[int]uint64{
		1998: 0x04, 2003: 0x19, 2011: 0x1a, 2014: 0x21, 2017: 0x2a, 2020: 0x2b, 2023: 0x3a,
	}
	for year, lang := range standards {
		if !isCPlusPlus(lang) || isC(lang) {
			t.Errorf("language %#x is not C++ %d", lang, year)
		}
	}
}
