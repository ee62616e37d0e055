// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"strings"
	"testing"

	"prywalk/internal/perfevents"
	"prywalk/internal/runstats"
)

// TestChildrenWhoseSamplesLackRootsAreFoundByTicks: from then on ticks find children that nobody meets, ticks are not
// left out, and the note says it. Where the engine was given, samples go on.
func TestChildrenWhoseSamplesLackRootsAreFoundByTicks(t *testing.T) {
	for _, choose := range []bool{true, false} {
		o := sampling(t, 99)
		o.Events.Close()
		r, err := perfevents.Open(perfevents.Options{Freq: 99, Programs: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		o.Events, o.Children, o.Choose = r, true, choose
		onTicksOf(t, o, func(tick func(), c *Tracer) {
			tick()
			if c.samples.untracked.table == nil {
				t.Fatal("children that nobody meets are not sampled")
			}
			c.UnmetLackRoots.Store(true)
			tick()
			var s runstats.Observed
			c.samples.stats(&s, &c.counts)
			sampled, noted := c.samples.untracked.table != nil, strings.Contains(s.EngineNote, "short-lived children")
			if sampled == choose || noted != choose || choose && c.mayRest(c.now.at) {
				t.Errorf("choice %v: sampled still %v, note %q, ticks left out %v", choose, sampled, s.EngineNote,
					c.mayRest(c.now.at))
			}
			c.UnmetLackRoots.Store(false)
			if !choose {
				return
			}
			k := &c.samples
			for range 3 { // their time is in the sum, and no samples of it come
				k.heardOf = k.heard
				c.ranGone += 1e12
				c.heardNobody(c.now.at)
				c.ranGone += 1e12
				if c.checkSamples(c.now.at); k.reader == nil {
					t.Fatalf("all samples are given up: %s", k.gaveUp)
				}
			}
		}, "sleepers", "1")
	}
}
