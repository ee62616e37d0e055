// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"testing"

	"prywalk/internal/engine"
	"prywalk/internal/perfevents"
)

func TestACrowdedThreadsSamplesAreHandedOverWithinATick(t *testing.T) {
	onRig(t, sampling(t, perfevents.Options{Freq: 997}), engine.Options{}, func(r *rig) {
		r.tick()
		for r.Sampled < 3*crowdedBy {
			r.drained = 1
			r.DrainIfDue()
		}
		if r.n.dropped != 0 {
			t.Errorf("%d samples were dropped", r.n.dropped)
		}
	}, "burners", "1")
}
