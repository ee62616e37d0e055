// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/internal/watch/tracer"
)

func TestCopiesOfManyThreadsDoNotPileUp(t *testing.T) {
	for name, heldUp := range map[string]time.Duration{"slow": 0, "held up": tracer.CatchUpFor * 3 / 2} {
		t.Run(name, func(t *testing.T) {
			started := start(t, "sleepers", "1500")
			slow := func(*target.Process, *observe.RawSample, sample.StackID, *frames.Walker) {
				time.Sleep(200*time.Microsecond + heldUp) // the subject: a slow walk
				heldUp = 0
			}
			everyone := func(s *Sampler) bool { return s.Progress().Stacks >= 1501 }
			r := run(t, target.SamplingOptions{Freq: 99, Walked: slow}, everyone, nil, started.pid)
			if r.Backlog > tracer.MaxBacklog+1<<20 || r.Backlog <= tracer.SomeBacklog/2 {
				t.Errorf("%d bytes of copies waited at once", r.Backlog)
			}
			if r.ThreadsMax < 1501 || r.PassiveReads < 1501 {
				t.Errorf("%d threads, %d passive reads", r.ThreadsMax, r.PassiveReads)
			}
		})
	}
}
