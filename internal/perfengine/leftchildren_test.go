// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"strings"
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
	"prywalk/internal/runstats"
)

func TestChildrenWhoseSamplesLackRootsAreFoundByTicks(t *testing.T) {
	for _, choose := range []bool{true, false} {
		source := sampling(t, perfevents.Options{Freq: 99, Programs: true})
		source.MayFallBack = choose
		onRig(t, source, engine.Options{Children: true}, func(r *rig) {
			r.tick()
			if r.childSamples.table == nil {
				t.Fatal("children that are not tracked are not sampled")
			}
			r.UntrackedLackOuterFrames.Store(true)
			r.tick()
			var s runstats.Observed
			r.modes.stats(&s)
			sampled, noted := r.childSamples.table != nil, strings.Contains(s.FallbackNote, "short-lived children")
			if sampled == choose || noted != choose || choose && r.Coverage().Complete {
				t.Errorf("choice %v: sampled still %v, note %q, ticks skipped %v", choose, sampled, s.FallbackNote,
					r.Coverage().Complete)
			}
			r.UntrackedLackOuterFrames.Store(false)
			if !choose {
				return
			}
			for range 3 { // their time is in the sum, without samples
				r.modes.receivedBefore = r.samples.counts.received
				r.more += 1e12
				r.modes.restartSilence(r.Tick.At)
				r.more += 1e12
				if r.modes.check(r.Tick.At); r.stream.reader == nil {
					t.Fatalf("all samples are given up: %s", r.stream.gaveUp)
				}
			}
		}, "sleepers", "1")
	}
}
