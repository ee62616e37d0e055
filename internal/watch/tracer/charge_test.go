// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/account/attribute"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestSamplesAtWithheldTicksAreChargedBeforeTheNextDecision(t *testing.T) {
	o := target.SamplingOptions{Freq: 99, MaxOverhead: 0.01, Engine: newToyRunning()}
	onTicksOf(t, o, func(_ func(), c *Tracer) {
		c.pace.budget.addStop(1e12)
		before := c.pace.budget.lost
		now, next := c.scheduleTick()
		if c.makeTick(now, next); c.pace.budget.withheld != 1 {
			t.Fatalf("%d ticks were withheld", c.pace.budget.withheld)
		}
		c.shared.EngineSamples += 100
		c.scheduleTick()
		if got := c.pace.budget.lost - before; got != 100*SampleCost {
			t.Errorf("%v ns were charged for 100 samples", got)
		}
	}, "sleepers", "1")
}

func TestAllSamplesAreChargedAtTheEnd(t *testing.T) {
	for _, limit := range []float64{0, 0.5} {
		var c *Tracer
		o := target.SamplingOptions{Freq: 99, MaxOverhead: limit, Engine: newToyRunning()}
		onTicksOf(t, o, func(_ func(), made *Tracer) {
			c = made
			c.shared.EngineSamples += 100
		}, "sleepers", "1")
		if got := c.pace.budget.lost; got < 100*SampleCost {
			t.Errorf("limit %v: %v ns were charged for 100 samples", limit, got)
		}
	}
}

func TestFirstTicksWithALimitObserveAPartOfTheThreads(t *testing.T) {
	const threads = 40
	for limit, first := range map[float64]int64{0: threads, 1e-9: 8} {
		o := target.SamplingOptions{Freq: 99, MaxOverhead: limit, Mode: observe.ModeAlwaysRead}
		onTicksOf(t, o, func(_ func(), c *Tracer) {
			now, next := c.scheduleTick()
			c.makeTick(now, next)
			if c.counts.attempted < first || c.counts.attempted > first+1 {
				t.Errorf("limit %v: %d of %d threads observed, want %d", limit, c.counts.attempted, threads, first)
			}
			if limit == 0 {
				return
			}
			before := c.counts.attempted
			c.observeLast(ptrace.Now())
			if n := c.counts.attempted - before; n < threads {
				t.Errorf("%d of %d threads observed at the end: the others' time since then is lost", n, threads)
			}
		}, "sleepers", strconv.Itoa(threads))
	}
}

func TestEndOfAProcessInAWithheldTickIsOfThatTick(t *testing.T) {
	onTicksOf(t, target.SamplingOptions{Freq: 99, MaxOverhead: 0.01}, func(tick func(), c *Tracer) {
		tick()
		c.stops.finishUntil(ptrace.Now().Add(testtargets.Patience))
		c.pace.budget.addStop(1e12)
		p := c.tracked.procs[0]
		if err := unix.Kill(p.Code.PID, unix.SIGKILL); err != nil {
			t.Error(err)
			return
		}
		testtargets.Eventually(t, "the process ends", func() bool { return !p.Code.Alive() })
		p.Threads.MakeDue()
		now, next := c.scheduleTick()
		c.makeTick(now, next)
		ends := 0
		for len(c.shared.Queue.Batches()) > 0 {
			for _, e := range <-c.shared.Queue.Batches() {
				if ended, ok := e.What.(*attribute.ProcessEnded); ok {
					ends++
					if ptrace.Moment(ended.At) != now {
						t.Errorf("the end is %d ns before the tick that found it", now.Add(-time.Duration(ended.At)))
					}
				}
			}
		}
		if ends != 1 || c.pace.budget.withheld != 1 {
			t.Errorf("%d ends and %d withheld ticks, want one each", ends, c.pace.budget.withheld)
		}
	}, "sleepers", "1")
}
