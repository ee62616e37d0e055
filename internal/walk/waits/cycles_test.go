// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"slices"
	"testing"
)

func TestEachCycleIsFoundOnceFromItsLowestThread(t *testing.T) {
	got := Cycles(map[int]int{1: 2, 2: 3, 3: 1, 4: 1, 5: 5, 6: 7, 8: 9, 9: 8, 10: 99})
	want := [][]int{{1, 2, 3}, {5}, {8, 9}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Cycles(nil); got != nil {
		t.Errorf("%v of nothing", got)
	}
}
