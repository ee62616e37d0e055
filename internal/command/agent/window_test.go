// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"iter"
	"maps"
	"math/rand/v2"
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

func openOf(list ...profile.Interval) iter.Seq[profile.Interval] { return slices.Values(list) }

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
				k := sumKey{r.pid, r.tid, r.stack, r.state}
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

func nextWindow(s *windowBuilder, n int64, open ...profile.Interval) *window {
	s.Refresh(at(n), openOf(open...))
	w := <-s.finished
	s.encoded()
	return w
}

func lastWindow(s *windowBuilder, n int64) *window {
	s.finish(time.Unix(0, at(n)))
	return <-s.finished
}

func TestSleepThatGoesOnIsSentInPieces(t *testing.T) {
	b := newTestBuilder()
	var got []int64
	next := func() {
		w := <-b.finished
		b.encoded()
		sum := int64(0)
		for _, points := range w.rows {
			for _, p := range points {
				sum += p.values[clockWall]
			}
		}
		got = append(got, sum)
	}
	b.Refresh(at(1), openOf(sleeper(1, 1, 900)))
	next()
	b.Refresh(at(2), openOf(sleeper(1, 1, 1900)))
	next()
	b.Add(sleeper(1, 1, 2500))
	b.Refresh(at(3), openOf(sleeper(1, 1, 40)))
	next()
	b.Add(sleeper(1, 1, 45))
	b.finish(time.Unix(0, at(4)))
	next()
	if want := []int64{900, 1000, 640, 5}; !slices.Equal(got, want) {
		t.Errorf("windows with %v ns of sleep, want %v", got, want)
	}
}

// queued is an interval of a thread that waited in the run queue and then ran for 3 ns.
func queued(pid, tid int, ns int64) profile.Interval {
	return profile.Interval{
		Stack: 100, PID: pid, TID: tid, State: "running", Wall: ns + 3, RunQueue: ns, CPU: 3,
	}
}

func TestSleepThatTurnsOutShorterIsTakenFromTheNextSleepInItsPlace(t *testing.T) {
	b := newTestBuilder()
	list := []*window{nextWindow(b, 1, sleeper(1, 1, 1000), sleeper(1, 2, 1000))}
	b.Add(sleeper(1, 1, 990)) // it had waited in the run queue for 10 ns when the window ended
	list = append(list, nextWindow(b, 2, sleeper(1, 2, 2000)))
	b.Add(queued(1, 1, 12))
	list = append(list, nextWindow(b, 3, sleeper(1, 1, 4), sleeper(1, 2, 3000)))
	b.Add(sleeper(1, 1, 50))
	b.Add(sleeper(1, 2, 4000))
	list = append(list, lastWindow(b, 4))
	want := map[sumKey]clockValues{
		keyOf(sleeper(1, 1, 0)): {0, 1040, 0}, keyOf(sleeper(1, 2, 0)): {0, 4000, 0},
		keyOf(queued(1, 1, 0)): {3, 15, 12},
	}
	if got := sumsOf(t, list...); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSleepThatTurnsOutShorterIsTakenFromItsThreadAtTheEnd(t *testing.T) {
	b := newTestBuilder()
	first := nextWindow(b, 1, sleeper(1, 1, 1000))
	b.Add(sleeper(1, 1, 990))
	b.Add(queued(1, 1, 12))
	b.Add(sleeper(1, 2, 5))
	got := sumsOf(t, first, lastWindow(b, 2))
	if sum := processSum(got, 1); sum != (clockValues{3, 1010, 12}) ||
		got[keyOf(sleeper(1, 2, 0))] != (clockValues{0, 5, 0}) {
		t.Errorf("%v", got)
	}
	if len(b.oversent) != 0 {
		t.Errorf("still owed: %v", b.oversent)
	}
}

func TestSleepThatTurnsOutShorterIsTakenFromItsStackAtTheEnd(t *testing.T) {
	b := newTestBuilder()
	first := nextWindow(b, 1, sleeper(1, 1, 1000))
	b.Add(sleeper(1, 1, 990))
	b.Add(queued(1, 1, 12))
	other := sleeper(1, 2, 500)
	other.Stack = sleeper(1, 1, 0).Stack
	b.Add(other)
	got := sumsOf(t, first, lastWindow(b, 2))
	want := map[sumKey]clockValues{
		keyOf(sleeper(1, 1, 0)): {0, 1000, 0}, keyOf(other): {0, 490, 0}, keyOf(queued(1, 1, 0)): {3, 15, 12},
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTimeThatWasSentUnderAnOldNameIsNotSentAgain(t *testing.T) {
	b := newTestBuilder()
	first := nextWindow(b, 1, sleeper(1, 1, 1000))
	b.Add(sleeper(1, 1, 1100))
	again := sleeper(1, 1, 300)
	again.Thread = "renamed"
	second := nextWindow(b, 2, again)
	again.Wall, again.Thread = 500, "again"
	b.Add(again)
	third := lastWindow(b, 3)
	for i, w := range []*window{first, second, third} {
		got := map[string]int64{}
		for r, points := range w.rows {
			for _, p := range points {
				got[r.thread] += p.values[clockWall]
			}
		}
		want := []map[string]int64{{"": 1000}, {"": 100, "renamed": 300}, {"again": 200}}[i]
		if !maps.Equal(got, want) {
			t.Errorf("window %d: %v, want %v", i+1, got, want)
		}
	}
}

func TestExcessOfAnEndedThreadIsTakenFromItsProcess(t *testing.T) {
	b := newTestBuilder()
	list := []*window{nextWindow(b, 1, sleeper(1, 1, 1000), sleeper(2, 1, 1000))}
	b.Add(sleeper(1, 1, 990))
	b.Add(sleeper(2, 1, 990))
	for n := int64(2); n < maxOversentWindows+4; n++ {
		b.Add(sleeper(1, 2, 100))
		list = append(list, nextWindow(b, n))
	}
	if got := processSum(sumsOf(t, list...), 1); got != (clockValues{0, 990 + 100*(maxOversentWindows+2), 0}) {
		t.Errorf("%v", got)
	}
	if len(b.oversent) != 0 {
		t.Errorf("still owed: %v", b.oversent)
	}
}

func TestWindowsAddUpToAllIntervals(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newTestBuilder()
		want := map[sumKey]clockValues{}
		open := map[int]profile.Interval{}
		var list []*window
		add := func(iv profile.Interval) {
			b.Add(iv)
			v := want[keyOf(iv)]
			v.add(valuesOf(&iv))
			want[keyOf(iv)] = v
		}
		for n := range int64(60) {
			for tid := range 8 {
				iv, sleeps := open[tid]
				switch {
				case sleeps && rng.IntN(3) == 0:
					late := min(rng.Int64N(50), iv.Wall)
					iv.Wall -= late
					add(iv)
					add(queued(iv.PID, tid, late))
					delete(open, tid)
				case sleeps:
					iv.Wall += rng.Int64N(2000)
					if iv.Thread == "" && rng.IntN(20) == 0 {
						iv.Thread = "renamed"
					}
					open[tid] = iv
				default:
					open[tid] = sleeper(tid%3, tid, rng.Int64N(100))
				}
			}
			b.Refresh(at(n+1), maps.Values(open))
			if rng.IntN(4) > 0 {
				select {
				case w := <-b.finished:
					list = append(list, w)
				default:
				}
			}
		}
		for _, iv := range open {
			add(iv)
		}
		for tid := range 8 {
			add(sleeper(tid%3, tid, 10000))
		}
		select {
		case w := <-b.finished:
			list = append(list, w)
		default:
		}
		list = append(list, lastWindow(b, 100))
		if got := sumsOf(t, list...); !maps.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v; owed %v", seed, got, want, b.oversent)
		}
	}
}

func TestAWindowThatIsNotTakenIsBounded(t *testing.T) {
	b := newTestBuilder()
	b.Refresh(at(1), openOf())
	for range 2 * maxPoints {
		b.Add(sleeper(1, 1, 1))
	}
	b.Refresh(at(2), openOf())
	if b.points != maxPoints {
		t.Errorf("%d points", b.points)
	}
	<-b.finished
	if got := processSum(sumsOf(t, lastWindow(b, 3)), 1); got[clockWall] != 2*maxPoints {
		t.Errorf("%v", got)
	}
}
