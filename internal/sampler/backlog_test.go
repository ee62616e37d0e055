// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/sample"
	"prywalk/internal/tracer"
)

// TestCopiesOfManyThreadsDoNotPileUp: in the first tick the stack of each thread is copied,
// 64 KB of it. The tick waits for the unwinding, so that memory does not grow with the
// number of threads, and leaves nobody out. Each walk is made to take longer than many copies.
// An accountant that is held up for longer than a tick waits finds no more either, and the ticks
// after that one do not add to it.
func TestCopiesOfManyThreadsDoNotPileUp(t *testing.T) {
	for name, heldUp := range map[string]time.Duration{"slow": 0, "held up": tracer.CatchUpFor * 3 / 2} {
		t.Run(name, func(t *testing.T) {
			target := start(t, "sleepers", "1500")
			slow := func(*handover.Process, *look.Shot, sample.StackID, *frames.Walker) {
				time.Sleep(200*time.Microsecond + heldUp)
				heldUp = 0
			}
			everyone := func(s *Sampler) bool { return s.Progress().Stacks >= 1501 }
			r := run(t, Options{Freq: 99, walked: slow}, everyone, nil, target.pid)
			if r.Backlog > tracer.MaxBacklog+1<<20 || r.Backlog <= tracer.SomeBacklog/2 {
				t.Errorf("%d bytes of copies waited at once", r.Backlog)
			}
			if r.ThreadsMax < 1501 || r.Peeked < 1501 {
				t.Errorf("%d threads, %d peeked", r.ThreadsMax, r.Peeked)
			}
		})
	}
}
