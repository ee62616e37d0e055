// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
)

func TestManySamplesOfAThreadAreHandedOverWithinATick(t *testing.T) {
	onRig(t, sampling(t, perfevents.Options{Freq: 997}), engine.Options{}, func(r *rig) {
		r.tick()
		for r.EngineSamples < 3*clocksAfterSamples {
			r.stream.drainedAt = 1
			r.DrainIfDue()
		}
		if r.samples.counts.dropped != 0 {
			t.Errorf("%d samples were dropped", r.samples.counts.dropped)
		}
	}, "burners", "1")
}
