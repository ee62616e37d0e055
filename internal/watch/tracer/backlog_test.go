// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/ptrace"
)

func TestOnlyCopiesThatWaitForTheirWalksKeepTicksAway(t *testing.T) {
	onTicks(t, observe.ModeAuto, func(tick func(), c *Tracer) {
		tick()
		makesTick := func() bool {
			before, now := c.shared.Tick.Number, ptrace.Now()
			c.makeTick(now, now.Add(5e6))
			return c.shared.Tick.Number != before
		}
		var kept []*observe.RawSample // of threads whose clocks only a tick reads
		for stack := make([]byte, 1<<20); c.shared.Pool.BytesInUse() <= MaxBacklog; {
			kept = append(kept, c.shared.Observer.FromKernelSample(&perfevents.Record{Stack: stack}))
		}
		if !makesTick() {
			t.Error("copies that wait for a tick keep it away")
		}
		for _, raw := range kept {
			raw.BeginWaiting()
		}
		if makesTick() {
			t.Error("a tick is made while the walks are far behind")
		}
		for _, raw := range kept {
			c.shared.Pool.Put(raw)
		}
	}, "sleepers", "1")
}
