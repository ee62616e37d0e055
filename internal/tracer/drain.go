// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"
	"time"

	"prywalk/internal/procmem"
)

// # Ticks that take long
//
// The kernel's buffers have room for 32 samples at least: 32 ms at 1,000 Hz. The first tick meets every thread, which
// takes 0.3 s with 5,000 of them. Then the accountant walks all those stacks, and ticks look at nobody until it has
// caught up; and prywalk's own garbage is collected, for as long. So whatever the tracer does meanwhile,
// it reads the buffers now and then.

// drainAfter is after how many periods the buffers are read in the middle of something.
const drainAfter = 8

// drainInTime takes the samples in the middle of a tick that takes long, as the first does that meets thousands of
// threads. It is to be called between two looks. Where the kernel samples all targets, somebody looks at them then.
func (c *Tracer) drainInTime() {
	k := &c.samples
	if k.reader == nil || k.paused {
		return
	}
	now := procmem.Now()
	if now-k.drained < drainAfter*k.reader.Period() {
		return
	}
	if c.allSampled() {
		c.someoneLooks(now)
	}
	c.takeSamples(now)
	for _, th := range k.crowded {
		if th.dead || th.look.Pending() || len(th.sampled.waiting) == 0 {
			continue
		}
		if sched, err := th.look.Files().SchedStat(); err == nil { // else it has ended, which its next look finds
			c.found(th, procmem.ReadingAt(sched, now), false)
		}
	}
	k.crowded = k.crowded[:0]
}

// drainStep is how often it is seen in a long wait whether the buffers are to be read.
const drainStep = time.Millisecond

// awaitAndDrain waits for the end of a channel, and reads the buffers meanwhile. Go's own timer leaves its processor to
// the collection that is waited for.
func (c *Tracer) awaitAndDrain(done <-chan struct{}) {
	if c.samples.reader == nil {
		<-done
		return
	}
	timer := time.NewTicker(drainStep)
	defer timer.Stop()
	for {
		c.drainInTime()
		select {
		case <-done:
			return
		case <-timer.C:
		}
	}
}

// allSampled reports whether the kernel samples all targets.
func (c *Tracer) allSampled() bool {
	return !c.samples.reader.Own() && !slices.ContainsFunc(c.procs, func(p *process) bool { return !p.sampled && !p.gone })
}
