// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/host/selfruntime"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestSamplesAreTakenWhateverTheTracerDoes(t *testing.T) {
	for name, do := range map[string]func(*Tracer){
		"threads are attached": func(c *Tracer) { c.listings.refresh(c.tracked.procs[0], ptrace.Now()) },
		"observations":         func(c *Tracer) { c.selector.observe(c.tracked.procs[0].Backoff.Due) },
		"observations that are drawn": func(c *Tracer) {
			c.pace.subset.begin(3, 3)
			c.selector.drawAndObserve(c.tracked.procs[0].Backoff.Due)
		},
		"a tick without observations": func(c *Tracer) { c.shared.Garbage.Request(); c.makeTick(ptrace.Now(), 0) },
		"a tick withheld":             func(c *Tracer) { c.withheldTick(ptrace.Now(), 0) },
		"a collection": func(c *Tracer) {
			done := make(chan struct{})
			close(done)
			c.shared.Garbage.Await(done)
		},
		"a pause": func(c *Tracer) { c.stops.pause(0) },
	} {
		t.Run(name, func(t *testing.T) {
			toy := newToyRunning()
			onTicksOf(t, target.SamplingOptions{Freq: 199, Engine: toy}, func(tick func(), c *Tracer) {
				if name != "threads are attached" {
					tick()
				}
				toy.drained = 0
				c.shared.Tick.Number++
				do(c)
				if toy.drained == 0 {
					t.Error("the engine was not called")
				}
			}, "sleepers", "3")
		})
	}
}

func TestGarbageIsCollectedWhileTicksAreWithheld(t *testing.T) {
	onTicksOf(t, target.SamplingOptions{Freq: 199, MaxOverhead: 0.01}, func(tick func(), c *Tracer) {
		tick()
		c.pace.chargeStop(1e15) // the budget is overdrawn for days
		c.shared.Garbage.Request()
		now := ptrace.Now()
		c.makeTick(now, now.Add(1e9))
		c.afterTick(now)
		if c.pace.budget.withheld != 1 {
			t.Fatalf("%d ticks withheld, want 1", c.pace.budget.withheld)
		}
		if c.shared.Garbage.Draining(int64(now)) {
			t.Error("the collection that was asked for has not been made")
		}
	}, "sleepers", "3")
}

func TestNoCollectionBeginsWhileAStopIsPending(t *testing.T) {
	defer selfruntime.DisableAutoGC(false)()
	onTicksOf(t, target.SamplingOptions{Freq: 99, Mode: observe.ModeAlwaysStop}, func(tick func(), c *Tracer) {
		collected := func() bool {
			c.shared.Garbage.Request()
			now := ptrace.Now()
			c.makeTick(now, now.Add(1e6))
			c.afterTick(now)
			return !c.shared.Garbage.Draining(int64(now))
		}
		for pending := false; !pending; { // a stop of a vfork parent ends by a time-out only
			tick()
			early := collected()
			if pending = c.shared.Observer.Stops.PendingStops() > 0; pending && early {
				t.Error("a collection began while a stop was pending")
			}
		}
		c.stops.finishOrCancelAll()
		if !collected() {
			t.Error("no collection, though no stop is pending")
		}
	}, "vforks")
}
