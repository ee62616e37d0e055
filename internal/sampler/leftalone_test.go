package sampler

import "testing"

// leftAlone is a stretch of time in which the thread was left alone.
func (b *book) leftAlone(cpu, runq, blocked int64, inCall bool) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	b.c.leftAlone(b.now, inCall, b.emit)
}

func TestTimeInACallThatIsLeftAloneGoesToTheCall(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Running)
	b.leftAlone(400, 20, 0, true)
	b.look(5, 0, 0, 2, Running)
	b.c.finish(b.emit)
	for _, s := range b.slices {
		if want := map[int64]int64{1: 400, 2: 5}[int64(s.stack)]; s.cpuRun != 0 && (s.cpuRun != want || s.leaf != "") {
			t.Errorf("%+v", s)
		}
	}
	if wall, runq, cpu := b.total(); wall != 425 || runq != 20 || cpu != 405 {
		t.Errorf("%d of wall time, %d queued, %d of processor time: %+v", wall, runq, cpu, b.slices)
	}
}

func TestTimeOfAThreadThatIsLeftAloneForItsSakeIsNotObserved(t *testing.T) {
	for _, before := range []State{Running, Sleeping} {
		var b book
		b.look(0, 0, 0, 1, before)
		b.leftAlone(400, 20, 80, false)
		b.leftAlone(0, 0, 0, false) // nothing has passed
		b.look(5, 0, 0, 2, Running)
		b.c.finish(b.emit)
		for _, s := range b.slices {
			if s.cpuRun == 400 != (s.leaf == RanBetweenTicks) || s.leaf == "" && s.cpuRun != 0 && s.cpuRun != 5 {
				t.Errorf("%v: %+v", before, s)
			}
		}
		if wall, runq, cpu := b.total(); wall != 505 || runq != 20 || cpu != 405 {
			t.Errorf("%v: %d of wall time, %d queued, %d of processor time: %+v", before, wall, runq, cpu, b.slices)
		}
	}
}

func TestHarmIsCountedByCall(t *testing.T) {
	var h harm
	h.broken[0], h.broken[mostCalls] = 2, 1
	got := byCall(&h.broken, 5)
	if len(got) != 2 || got["other"] != 3 {
		t.Errorf("%v", got)
	}
	if got := byCall(&h.told, 0); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
