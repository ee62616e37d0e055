// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
)

func TestSearchObservesThreadsThatHaveRunFirst(t *testing.T) {
	const threads = 100
	onTicks(t, observe.ModeAuto, func(tick func(), c *Tracer) {
		p := c.tracked.processes()[0]
		testtargets.Eventually(t, "half of the threads are backed off", func() bool {
			tick()
			return len(p.Backoff.Due) < threads/2
		})
		for i, th := range p.Threads.All() {
			if i%2 == 0 {
				c.shared.Backoff.RecordChanged(th) // it has run
			}
		}
		c.shared.Tick.Number++ // none is tried so far
		already := len(p.Backoff.Due)
		p.Clock.ReadAt, p.Clock.Now, p.Clock.Valid = c.shared.Tick.At, p.Clock.Now+3600e9, true
		c.selector.observeBackedOff(p)
		woken := p.Backoff.Due[already:]
		all := len(p.Threads.All())
		if len(p.Backoff.Due) != all || len(woken) == 0 || !woken[0].HasRun() || woken[len(woken)-1].HasRun() {
			t.Fatalf("%d of %d threads are woken, not those first that have run", len(woken), all-already)
		}
		for i := 1; i < len(woken); i++ {
			if woken[i].HasRun() && !woken[i-1].HasRun() {
				t.Errorf("thread %d of %d has run, and is woken after one that has not", i, len(woken))
			}
		}
		for _, th := range woken {
			if !c.observations.wasTried(th) {
				t.Error("a woken thread is not observed")
			}
		}
	}, "sleepers", "100")
}

func TestAThreadThatHasEndedInAPauseIsNotObserved(t *testing.T) {
	onTicks(t, observe.ModeAuto, func(tick func(), c *Tracer) {
		tick()
		all := c.tracked.processes()[0].Threads.All()
		th := all[len(all)-1]
		c.results.endThread(th) // as a stop does that finds its end
		before := c.counts.attempted
		c.observations.observe(th)
		if !th.Gone || c.counts.attempted != before {
			t.Errorf("gone %v, %d more attempts; want true, 0", th.Gone, c.counts.attempted-before)
		}
	}, "sleepers", "3")
}
