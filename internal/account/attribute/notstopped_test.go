// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"

	"prywalk/internal/base/sample"
)

func (b *timeline) notStopped(cpu, runq, blocked int64, inCall bool) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	b.l.AttributeNotStopped(b.now, inCall)
}

func TestTimeInACallWithoutStopsGoesToTheCall(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Running)
	b.notStopped(400, 20, 0, true)
	b.observe(5, 0, 0, 2, sample.Running)
	b.l.Finish()
	for _, s := range b.spans {
		if want := map[int64]int64{1: 400, 2: 5}[int64(s.Stack)]; s.CPU != 0 && (s.CPU != want || s.Leaf != "") {
			t.Errorf("span %+v, want %d ns of CPU", s, want)
		}
	}
	if wall, runq, cpu := b.total(); wall != 425 || runq != 20 || cpu != 405 {
		t.Errorf("wall %d, queued %d, CPU %d; want 425, 20, 405: %+v", wall, runq, cpu, b.spans)
	}
}

func TestCPUTimeOfAThreadThatWasNotStoppedIsRanBetweenTicks(t *testing.T) {
	for _, before := range []sample.State{sample.Running, sample.Sleeping} {
		b := newTimeline()
		b.observe(0, 0, 0, 1, before)
		b.notStopped(400, 20, 80, false)
		b.notStopped(0, 0, 0, false)
		b.observe(5, 0, 0, 2, sample.Running)
		b.l.Finish()
		for _, s := range b.spans {
			if s.CPU == 400 != (s.Leaf == RanBetweenTicks) || s.Leaf == "" && s.CPU != 0 && s.CPU != 5 {
				t.Errorf("then %v: span %+v, want 400 ns of CPU under %s and 5 ns in the stack", before, s, RanBetweenTicks)
			}
		}
		if wall, runq, cpu := b.total(); wall != 505 || runq != 20 || cpu != 405 {
			t.Errorf("then %v: wall %d, queued %d, CPU %d; want 505, 20, 405: %+v", before, wall, runq, cpu, b.spans)
		}
	}
}

type cpuSum int64

func (c *cpuSum) Add(iv *Interval)           { *c += cpuSum(iv.CPU) }
func (*cpuSum) ProcessDone(sample.ProcessID) {}
func sleeperAt(wall, cpu int64, before sample.Unchanged) Sample {
	return Sample{At: sample.Reading{Wall: wall, CPU: cpu}, Place: Place{State: sample.Sleeping}, UnchangedBefore: before}
}

func TestCPUTimeWithoutStopsAfterUnchangedTicksCountsOnce(t *testing.T) {
	var cpu cpuSum
	a := New(Scope{}, nil, &cpu)
	a.Apply(&ProcessStarted{Process: 1, Since: 1})
	a.Apply(&Sampled{Process: 1, Thread: 1, Sample: sleeperAt(1000, 50, sample.Unchanged{})})
	unchanged := sample.Unchanged{Ticks: 3, Last: sample.Reading{Wall: 4000, CPU: 50}}
	a.Apply(&Sampled{Process: 1, Thread: 1, Sample: sleeperAt(9000, 550, unchanged),
		NotStopped: sample.NotStopped{Other: sample.Reading{Wall: 6000, CPU: 450}}})
	a.Apply(&ThreadEnded{Process: 1, Thread: 1, End: End{Alive: true}})
	if cpu != 500 {
		t.Errorf("%d ns of CPU are attributed, want the 500 that the thread has used", cpu)
	}
}
