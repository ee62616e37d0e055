// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"
	"time"

	"prywalk/ptrace"
)

func TestMappingsAreReadAtEachOfManyLoadedLibraries(t *testing.T) {
	var r refreshBudget
	now := ptrace.Moment(1e9)
	r.chargeRefresh(now, 200e3, false)
	for range 20 { // libraries with 8 ms of call frame information
		if now = now.Add(5e6); !r.mayRefresh(now) {
			t.Fatalf("mappings may not be read again after %d ms", (now.Sub(r.last))/1e6)
		}
		r.chargeRefresh(now, 8e6, true)
	}
}

func TestReadingMappingsTakesAtMostItsShare(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		var r refreshBudget
		spent, readings := time.Duration(0), 0
		for now := ptrace.Moment(1e9); now < 61e9; now = now.Add(1e6) {
			if r.mayRefresh(now) {
				spent, readings = spent+3e6, readings+1
				r.chargeRefresh(now, 3e6, loaded)
			}
		}
		most := time.Duration(60e9/refreshShare + 3e6)
		if loaded {
			most = most*2 + loadCredit // at most twice the share, after the credit
		}
		if spent > most || readings < 100 {
			t.Errorf("loaded %t: %d readings took %d ms of a minute, want at least 100 and at most %d ms", loaded, readings,
				spent/1e6, most/1e6)
		}
	}
}

func TestMappingsAreReadAfterTwoSeconds(t *testing.T) {
	r := refreshBudget{last: 1e9, cost: 1e6}
	for _, c := range []struct {
		at       ptrace.Moment
		starting bool
		want     bool
	}{
		{1e9 + 2e9, false, false},
		{1e9 + 2e9 + 1, false, true},
		{1e9 + 20e6, true, false}, // a share
		{1e9 + 20e6 + 1, true, true},
		{1e9 + 20e6 + 1, false, false},
	} {
		if got := r.due(c.at, c.starting); got != c.want {
			t.Errorf("%+v: due %t, want %t", c, got, c.want)
		}
	}
}
