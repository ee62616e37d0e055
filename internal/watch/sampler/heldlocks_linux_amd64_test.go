// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/internal/store/profile"
)

func TestGoroutinesHaveTheLocksThatTheyAwaitAndLikelyHold(t *testing.T) {
	pid := goTarget(t, "heldlocks")
	r := record(t, Options{Tasks: true}, 300*time.Millisecond, func(s *Sampler) {
		await(t, "goroutines are recorded", func() bool { return s.aggregator.TaskObservations() >= 5 })
	}, pid)
	awaits, holds := map[string]string{}, map[string]string{}
	for _, s := range r.Sample {
		if !ofGoroutine(s) {
			continue
		}
		for _, function := range []string{"hold", "await", "read", "free", "meet"} {
			if slices.Contains(stack(s), "main."+function) {
				awaits[function], holds[function] = label(s, profile.LabelAwaitsLock), label(s, profile.LabelHolds)
			}
		}
	}
	held := strings.Fields(holds["hold"])
	if len(awaits) != 5 || len(held) != 2 || !slices.Contains(held, awaits["await"]) ||
		!slices.Contains(held, awaits["read"]) || awaits["await"] == awaits["read"] {
		t.Errorf("goroutines await %q and hold %q", awaits, holds)
	}
	for _, function := range []string{"await", "read", "free", "meet"} {
		if holds[function] != "" {
			t.Errorf("%s holds %q", function, holds[function])
		}
	}
}
