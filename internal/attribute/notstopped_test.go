// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"

	"prywalk/internal/sample"
)

func (b *book) leftAlone(cpu, runq, blocked int64, inCall bool) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	b.c.NotStopped(b.now, inCall, b.emit)
}

func TestTimeInACallWithoutStopsGoesToTheCall(t *testing.T) {
	var b book
	b.observe(0, 0, 0, 1, sample.Running)
	b.leftAlone(400, 20, 0, true)
	b.observe(5, 0, 0, 2, sample.Running)
	b.c.Finish(b.emit)
	for _, s := range b.spans {
		if want := map[int64]int64{1: 400, 2: 5}[int64(s.Stack)]; s.CPU != 0 && (s.CPU != want || s.Leaf != "") {
			t.Errorf("%+v", s)
		}
	}
	if wall, runq, cpu := b.total(); wall != 425 || runq != 20 || cpu != 405 {
		t.Errorf("%d of wall time, %d queued, %d of processor time: %+v", wall, runq, cpu, b.spans)
	}
}

func TestTimeOfAThreadThatIsLeftAloneForItsSakeIsNotObserved(t *testing.T) {
	for _, before := range []sample.State{sample.Running, sample.Sleeping} {
		var b book
		b.observe(0, 0, 0, 1, before)
		b.leftAlone(400, 20, 80, false)
		b.leftAlone(0, 0, 0, false)
		b.observe(5, 0, 0, 2, sample.Running)
		b.c.Finish(b.emit)
		for _, s := range b.spans {
			if s.CPU == 400 != (s.Leaf == RanBetweenTicks) || s.Leaf == "" && s.CPU != 0 && s.CPU != 5 {
				t.Errorf("%v: %+v", before, s)
			}
		}
		if wall, runq, cpu := b.total(); wall != 505 || runq != 20 || cpu != 405 {
			t.Errorf("%v: %d of wall time, %d queued, %d of processor time: %+v", before, wall, runq, cpu, b.spans)
		}
	}
}
