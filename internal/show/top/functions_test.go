// SPDX-License-Identifier: Apache-2.0

package top

import (
	"testing"

	"prywalk/internal/store/profile"
)

func TestKnownFunctionsAreNotMadeAgain(t *testing.T) {
	table := NewFunctionTable(nil)
	l := &profile.Named{Loc: profile.Loc{Module: &profile.ModuleInfo{Path: "[HotSpot 17.0.15]"}},
		Frames: []profile.Frame{{Name: "com.shop.Cart.total", File: "Cart.java"}, {Name: "com.shop.Shop.buy"}}}
	locations := table.appendLocations(l, nil)
	if n := testing.AllocsPerRun(10, func() { locations = table.appendLocations(l, locations[:0]) }); n != 0 {
		t.Errorf("%v allocations for known functions, want 0", n)
	}
	if len(locations) != 2 || len(table.locations) != 2 {
		t.Errorf("%d functions, %d in the table; want 2", len(locations), len(table.locations))
	}
}
