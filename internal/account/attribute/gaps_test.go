// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/rand/v2"
	"testing"
)

func TestGapsAreBoundedAndNoneIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var g Gaps
	var all []gap
	now, sum := int64(0), int64(0)
	for range 20_000 {
		from := now + 1 + rng.Int64N(1e9)
		now = from + 1 + rng.Int64N(1e9)
		g.Add(from, now-from)
		all = append(all, gap{from, now, now - from})
		sum += now - from
		if len(g) > maxGaps {
			t.Fatalf("%d gaps are kept, want at most %d", len(g), maxGaps)
		}
		since := now - rng.Int64N(100e9)
		want := int64(0)
		for _, e := range all {
			want += max(0, min(e.to, now)-max(e.from, since))
		}
		if got := g.Within(since, now); got < want-1e9 || got > want+1e9 {
			t.Fatalf("%d ns not observed since %d, want %d ± 1e9", got, since, want)
		}
	}
	if got := g.Within(0, now); got > sum || got < sum-2*maxGaps {
		t.Errorf("%d ns not observed, want %d to %d", got, sum-2*maxGaps, sum)
	}
}
