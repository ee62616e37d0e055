// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"testing"

	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
)

// sampling gives options by which the kernel samples running threads, or says why this machine does not.
func sampling(t *testing.T, freq float64) Options {
	t.Helper()
	r, err := perfevents.Open(perfevents.Options{Freq: freq})
	if errors.Is(err, perfevents.ErrDenied) || errors.Is(err, perfevents.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return Options{Freq: freq, Events: r}
}

// TestSamplesAreTakenWhateverTheTracerDoes: the kernel's buffers are read in the middle of whatever may take long. Each
// is begun with buffers that were not read for long, and must have read them.
func TestSamplesAreTakenWhateverTheTracerDoes(t *testing.T) {
	for name, do := range map[string]func(*Tracer){
		"threads are met": func(c *Tracer) { c.list(c.procs[0], procmem.Now()) },
		"looks":           func(c *Tracer) { c.lookAt(c.procs[0].idle.Awake) },
		"looks that are drawn": func(c *Tracer) {
			c.subset.Begin(1, 1)
			c.lookAtDrawn(c.procs[0].idle.Awake)
		},
		"a tick without looks": func(c *Tracer) { c.Garbage.Ask(); c.tick(procmem.Now(), 0) },
		"a tick withheld":      func(c *Tracer) { c.withhold(procmem.Now(), 0) },
		"a collection": func(c *Tracer) {
			done := make(chan struct{})
			close(done)
			c.Garbage.Await(done)
		},
		"a pause": func(c *Tracer) { c.breathe(0) },
	} {
		t.Run(name, func(t *testing.T) {
			onTicksOf(t, sampling(t, 199), func(tick func(), c *Tracer) {
				if name != "threads are met" {
					tick()
				}
				c.samples.drained = 1 // a moment after boot
				do(c)
				if c.samples.drained == 1 {
					t.Error("the kernel's buffers were not read")
				}
			}, "sleepers", "3")
		})
	}
}

// TestACrowdedThreadsSamplesAreHandedOverWithinATick: with no tick in between, for as long as it takes.
func TestACrowdedThreadsSamplesAreHandedOverWithinATick(t *testing.T) {
	onTicksOf(t, sampling(t, 997), func(tick func(), c *Tracer) {
		tick()
		for c.counts.sampled < 3*crowdedBy {
			c.samples.drained = 1
			c.drainInTime()
		}
		if c.samples.dropped != 0 {
			t.Errorf("%d samples were dropped", c.samples.dropped)
		}
	}, "burners", "1")
}
