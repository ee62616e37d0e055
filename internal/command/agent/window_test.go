// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/store/profile"
)

var begun = time.Unix(1000, 0)

func newTestBuilder() *windowBuilder {
	return newWindowBuilder(begun, time.Second, func(processKey) {})
}

func sleeper(pid, tid int, wall int64) profile.Interval {
	return profile.Interval{Stack: sample.StackID(tid), PID: pid, TID: tid, State: "sleeping", Wall: wall}
}

// at leaves room for the varied length of windows.
func at(windows int64) int64 { return begun.UnixNano() + windows*2e9 }

type sumKey struct {
	pid, tid int
	stack    sample.StackID
	state    string
}

func keyOf(iv profile.Interval) sumKey { return sumKey{iv.PID, iv.TID, iv.Stack, iv.State} }

func sumsOf(t *testing.T, list ...*window) map[sumKey]clockValues {
	t.Helper()
	out := map[sumKey]clockValues{}
	for _, w := range list {
		for r, points := range w.rows {
			for _, p := range points {
				for _, v := range p.values {
					if v < 0 {
						t.Errorf("%+v: %+v", r, p)
					}
				}
				k := sumKey{r.process.pid, r.tid, r.stack, r.state}
				v := out[k]
				v.add(p.values)
				out[k] = v
			}
		}
	}
	maps.DeleteFunc(out, func(_ sumKey, v clockValues) bool { return v == clockValues{} })
	return out
}

func processSum(sums map[sumKey]clockValues, pid int) (sum clockValues) {
	for k, v := range sums {
		if k.pid == pid {
			sum.add(v)
		}
	}
	return sum
}

func nextWindow(b *windowBuilder, n int64, open ...profile.Interval) *window {
	b.RefreshCut(at(n), func() {
		for _, iv := range open {
			b.Add(iv)
		}
	})
	w := <-b.finished // RefreshCut has sent it
	b.encoded()
	return w
}

func lastWindow(s *windowBuilder, n int64) *window {
	s.finish(time.Unix(0, at(n)))
	return <-s.finished // finish has sent it
}

func TestSleepThatGoesOnIsSentInPieces(t *testing.T) {
	b := newTestBuilder()
	var list []*window
	var got []clockValues
	take := func(w *window) {
		list = append(list, w)
		got = append(got, processSum(sumsOf(t, w), 1))
	}
	take(nextWindow(b, 1, sleeper(1, 1, 900)))
	take(nextWindow(b, 2, sleeper(1, 1, 1000), sleeper(1, 2, 7)))
	b.Add(sleeper(1, 1, 640))
	take(nextWindow(b, 3))
	take(lastWindow(b, 4))
	if want := []clockValues{{0, 900, 0}, {0, 1007, 0}, {0, 640, 0}, {}}; !slices.Equal(got, want) {
		t.Errorf("windows with %v ns, want %v", got, want)
	}
	want := map[sumKey]clockValues{keyOf(sleeper(1, 1, 0)): {0, 2540, 0}, keyOf(sleeper(1, 2, 0)): {0, 7, 0}}
	if all := sumsOf(t, list...); !maps.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

func TestOpenIntervalsAreCutOnlyAtTheEndOfAWindow(t *testing.T) {
	b := newTestBuilder()
	cuts := 0
	cut := func() { cuts++ }
	b.RefreshCut(begun.UnixNano()+8e8, cut)
	if cuts != 0 || len(b.finished) != 0 {
		t.Errorf("%d cuts before the window is due", cuts)
	}
	b.RefreshCut(at(1), cut)
	b.RefreshCut(at(2), cut) // the first window was not taken
	if cuts != 1 || len(b.finished) != 1 {
		t.Errorf("%d cuts, %d windows, want 1, 1", cuts, len(b.finished))
	}
}

func TestAWindowThatIsNotTakenIsBounded(t *testing.T) {
	b := newTestBuilder()
	b.RefreshCut(at(1), func() {})
	for range 2 * maxPoints {
		b.Add(sleeper(1, 1, 1))
	}
	b.RefreshCut(at(2), func() {})
	if b.points != maxPoints {
		t.Errorf("%d points", b.points)
	}
	<-b.finished // RefreshCut has sent it
	if got := processSum(sumsOf(t, lastWindow(b, 3)), 1); got[clockWall] != 2*maxPoints {
		t.Errorf("%v", got)
	}
}
