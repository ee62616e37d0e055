// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"prywalk/internal/profile"
	"prywalk/internal/sample"
)

// begun is when the tests' recordings begin.
var begun = time.Unix(1000, 0)

func newTestStore() *Store { return NewStore(begun, time.Second, func(processKey) {}) }

func openOf(list ...profile.Interval) iter.Seq[profile.Interval] { return slices.Values(list) }

// sleeper is an interval of a thread that sleeps and goes on.
func sleeper(pid, tid int, wall int64) profile.Interval {
	return profile.Interval{Stack: sample.StackID(tid), PID: pid, TID: tid, State: "sleeping", Wall: wall}
}

// at gives the moment so many windows after the beginning.
func at(windows int64) int64 { return begun.UnixNano() + windows*2e9 }

// sumsOf adds up windows by process, and checks that no point is negative or out of its window.
func sumsOf(t *testing.T, list []*window) map[int]values {
	t.Helper()
	out := map[int]values{}
	for _, w := range list {
		for r, points := range w.rows {
			for _, p := range points {
				for _, v := range p.values {
					if v < 0 {
						t.Errorf("%+v: %+v", r, p)
					}
				}
				v := out[r.pid]
				v.add(p.values)
				out[r.pid] = v
			}
		}
	}
	return out
}

// TestSleepThatGoesOnIsSentInPieces: each window has what the sleep has grown by, the last one the rest.
func TestSleepThatGoesOnIsSentInPieces(t *testing.T) {
	s := newTestStore()
	var got []int64
	next := func() {
		w := <-s.handedOut
		s.encoded()
		sum := int64(0)
		for _, points := range w.rows {
			for _, p := range points {
				sum += p.values[clockWall]
			}
		}
		got = append(got, sum)
	}
	s.Refresh(at(1), openOf(sleeper(1, 1, 900)))
	next()
	s.Refresh(at(2), openOf(sleeper(1, 1, 1900)))
	next()
	s.Add(sleeper(1, 1, 2500))
	s.Refresh(at(3), openOf(sleeper(1, 1, 40)))
	next()
	s.Add(sleeper(1, 1, 45))
	s.Finish(time.Unix(0, at(4)))
	next()
	if want := []int64{900, 1000, 640, 5}; !slices.Equal(got, want) {
		t.Errorf("windows with %v ns of sleep, want %v", got, want)
	}
}

// TestSleepThatTurnsOutShorterIsTakenFromItsThread: the windows' sum is that of the final intervals.
func TestSleepThatTurnsOutShorterIsTakenFromItsThread(t *testing.T) {
	s := newTestStore()
	s.Refresh(at(1), openOf(sleeper(1, 1, 1000)))
	first := <-s.handedOut
	s.Add(sleeper(1, 1, 990))
	s.Add(profile.Interval{Stack: 9, PID: 1, TID: 1, State: "running", Wall: 15, RunQueue: 12, CPU: 3})
	s.Finish(time.Unix(0, at(2)))
	second := <-s.handedOut
	if got := sumsOf(t, []*window{first, second}); got[1] != (values{3, 1005, 12}) {
		t.Errorf("%v", got)
	}
	if len(s.owed) != 0 {
		t.Errorf("still owed: %v", s.owed)
	}
}

// TestWindowsAddUpToAllIntervals, whatever sleeps, ends, is shortened and is renamed, also while no window is taken.
func TestWindowsAddUpToAllIntervals(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := newTestStore()
		want := map[int]values{}
		open := map[int]profile.Interval{}
		var list []*window
		add := func(iv profile.Interval) {
			s.Add(iv)
			v := want[iv.PID]
			v.add(valuesOf(&iv))
			want[iv.PID] = v
		}
		for n := range int64(60) {
			for tid := range 8 {
				iv, sleeps := open[tid]
				switch {
				case sleeps && rng.IntN(3) == 0: // it wakes: a part of its sleep was time in the queue
					late := min(rng.Int64N(50), iv.Wall)
					iv.Wall -= late
					add(iv)
					add(profile.Interval{Stack: 100, PID: iv.PID, TID: tid, State: "running", Wall: late + 7, RunQueue: late, CPU: 7})
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
			s.Refresh(at(n+1), maps.Values(open))
			if rng.IntN(4) > 0 {
				select {
				case w := <-s.handedOut:
					list = append(list, w)
				default:
				}
			}
		}
		for _, iv := range open {
			add(iv)
		}
		select {
		case w := <-s.handedOut:
			list = append(list, w)
		default:
		}
		s.Finish(time.Unix(0, at(100)))
		list = append(list, <-s.handedOut)
		if got := sumsOf(t, list); !maps.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v; owed %v", seed, got, want, s.owed)
		}
	}
}

// TestAWindowThatIsNotTakenIsBounded: intervals of a row are added up beyond a number of points.
func TestAWindowThatIsNotTakenIsBounded(t *testing.T) {
	s := newTestStore()
	s.Refresh(at(1), openOf())
	for range 2 * mostPoints {
		s.Add(sleeper(1, 1, 1))
	}
	s.Refresh(at(2), openOf()) // the first window still waits
	if s.points != mostPoints {
		t.Errorf("%d points", s.points)
	}
	<-s.handedOut
	s.Finish(time.Unix(0, at(3)))
	if got := sumsOf(t, []*window{<-s.handedOut}); got[1][clockWall] != 2*mostPoints {
		t.Errorf("%v", got)
	}
}
