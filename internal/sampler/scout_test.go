package sampler

import (
	"slices"
	"testing"
)

// TestScoutSearchesOnlyAfterBirths: each 20 ms it is asked whether somebody was born.
func TestScoutSearchesOnlyAfterBirths(t *testing.T) {
	var s searches
	var got []int
	for i := range 100 {
		if s.due(int64(i+1)*int64(scoutEvery), i == 10 || i == 50 || i == 51) {
			got = append(got, i)
		}
	}
	// At the start, twice after births, and half a second after the last one.
	if want := []int{0, 10, 11, 36, 50, 51, 52, 77}; !slices.Equal(got, want) {
		t.Errorf("searches at %v, want %v", got, want)
	}
}
