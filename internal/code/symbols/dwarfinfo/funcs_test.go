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
