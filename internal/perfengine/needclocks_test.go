// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

func TestManySamplesOfAThreadAreHandedOverWithinATick(t *testing.T) {
	onRig(t, sampling(t, perfevents.Options{Freq: 997}), engine.Options{}, func(r *rig) {
		r.tick()
		for end := procmem.Now() + 30e9; r.EngineSamples < 3*clocksAfterSamples; {
			if procmem.Now() > end {
				t.Fatalf("%d samples were handed over in 30 s, want %d", r.EngineSamples, 3*clocksAfterSamples)
			}
			r.stream.drainedAt = 1
			r.DrainIfDue()
		}
		if r.samples.counts.dropped != 0 {
			t.Errorf("%d samples were dropped", r.samples.counts.dropped)
		}
	}, "burners", "1")
}
