// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"prywalk/benchmarks/overhead/load"
)

func waitsAround(t *testing.T, rng *rand.Rand, factor float64) load.Histogram {
	t.Helper()
	var pairs []string
	for b := 200; b < 260; b++ {
		pairs = append(pairs, fmt.Sprintf("[%d,%d]", b+int(32*(factor-1)), 20+rng.IntN(20)))
	}
	var h load.Histogram
	if err := json.Unmarshal([]byte("["+strings.Join(pairs, ",")+"]"), &h); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestChangeOfALatencyHasAnIntervalThatHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	var same, doubled []*pairWaits
	for range 15 {
		same = append(same, &pairWaits{waitsAround(t, rng, 1), waitsAround(t, rng, 1)})
		doubled = append(doubled, &pairWaits{waitsAround(t, rng, 1), waitsAround(t, rng, 2)})
	}
	if c := change(same, 0.999); c == nil || c.Low > 1 || c.High < 1 {
		t.Errorf("%+v of waits that are the same", c)
	}
	if c := change(doubled, 0.999); c == nil || c.Low < 1.8 || c.High > 2.2 || c.Low > c.Ratio || c.High < c.Ratio {
		t.Errorf("%+v of waits that have doubled", c)
	}
	if a, b := verdict(change(same, 0.999)), verdict(change(doubled, 0.999)); a != "not changed" || b != "longer" {
		t.Errorf("%s, %s", a, b)
	}
	if c := change([]*pairWaits{{}}, 0.999); c != nil {
		t.Errorf("%+v of nothing", c)
	}
}
