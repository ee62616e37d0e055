// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"fmt"
	"math"
	"math/rand/v2"
	"prywalk/internal/base/sample"
	"testing"
)

func TestTimeOfAThreadWithoutSamplesIsNotObserved(t *testing.T) {
	for name, rest := range map[string]sample.Reading{
		"ran":    {Wall: 9e6, CPU: 8e6},
		"queued": {Wall: 9e6, CPU: 2e6, RunQueue: 6e6},
		"slept":  {Wall: 9e6, CPU: 1e6},
	} {
		p, th := &processAccount{}, &threadAccount{}
		var cpu, runq, wall int64
		th.ledger.Emit = func(s Span) {
			if s.Leaf != NotObserved || s.Samples != 0 {
				t.Errorf("%s: span %+v, want %s without samples", name, s, NotObserved)
			}
			cpu, runq, wall = cpu+s.CPU, runq+s.RunQueue, wall+s.Wall
		}
		th.beginWithoutSample(sample.Reading{})
		th.extend(sample.Unchanged{Ticks: 2, Last: sample.Reading{Wall: 1e6}})
		p.endThread(th, &End{Alive: true, AtEnd: rest, GapThreshold: 1e9})
		p.finishThread(th)
		if cpu != rest.CPU || runq != rest.RunQueue || wall < cpu+runq || wall > rest.Wall {
			t.Errorf("%s: CPU %d, queued %d, wall %d; want those of %+v", name, cpu, runq, wall, rest)
		}
	}
}

func TestQueueTimeThatIsChargedLateIsNotCountedTwice(t *testing.T) {
	var l Ledger
	wall := int64(0)
	l.Emit = func(s Span) {
		if wall += s.Wall; s.State != sample.Running {
			t.Errorf("span %+v of a thread that never slept is not running", s)
		}
	}
	l.Begin(sample.Reading{})
	l.Observe(sample.Reading{Wall: 10e6, CPU: 6e6}, Place{State: sample.Running}, true)
	l.Observe(sample.Reading{Wall: 20e6, CPU: 12e6, RunQueue: 8e6}, Place{State: sample.Running}, true)
	if l.Finish(); wall != 20e6 {
		t.Errorf("attributed %d ns of wall time, want 20e6", wall)
	}
}

func sampledLives(rng *rand.Rand, life, period int64, samples int) *lives {
	l, end := newLives(), int64(samples)*period
	for created := rng.Int64N(period); created < end; created += life + rng.Int64N(period) {
		th := l.thread(created)
		read := sample.Reading{Wall: created}
		var waiting []int64
		next := created - created%period + period
		for tick := created - created%period + period + period/3; ; tick += period {
			for ; next < min(tick, created+life); next += period {
				waiting = append(waiting, next)
			}
			if tick >= created+life {
				break
			}
			now := sample.Reading{Wall: tick, CPU: tick - created}
			for _, at := range waiting {
				l.sample(th, Sample{
					At: read.Between(now, at), Place: l.at(at-created, life), OnCPU: true, StandsFor: period,
				})
			}
			read, waiting = now, waiting[:0]
		}
		for _, at := range waiting {
			l.addUnassigned(l.at(at-created, life), at, period)
		}
		l.end(th, life)
	}
	l.finish(end)
	return l
}

func TestSharesOfSampledShortLivesAreTrue(t *testing.T) {
	const period, samples = 10_000_000, 20_000
	for _, periods := range []float64{0.1, 0.2, 0.5, 0.8, 1, 1.5, 3, 5, 10, 30, 100} {
		t.Run(fmt.Sprint(periods, " periods"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(2, uint64(periods*10)))
			l := sampledLives(rng, int64(periods*period)+1, period, samples)
			found := float64(l.used) / period
			l.check(t, found, 6/math.Sqrt(found))
		})
	}
}
