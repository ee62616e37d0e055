// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

type interval struct{ begin, end int64 }

// readIntervals writes intervals, reads them again and returns those of a thread in order, since the epoch.
func readIntervals(t *testing.T, tid int, list ...Interval) (got []interval) {
	t.Helper()
	b := NewBuilder(Meta{Start: time.Unix(0, 0)})
	for _, i := range list {
		i.PID, i.Samples, i.CPU = 7, 1, i.Wall
		b.Add(i)
	}
	var file bytes.Buffer
	if err := b.Write(&file, names); err != nil {
		t.Fatal(err)
	}
	p, err := Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sample {
		if ids := s.NumLabel[LabelTID]; tid == 0 && ids == nil || slices.Equal(ids, []int64{int64(tid)}) {
			wall := s.Value[slices.IndexFunc(p.SampleType, func(v *pprof.ValueType) bool { return v.Type == TypeWall })]
			got = append(got, interval{s.NumLabel[LabelEnd][0] - wall, s.NumLabel[LabelEnd][0]})
		}
	}
	slices.SortStableFunc(got, func(a, b interval) int { return int(a.end - b.end) })
	return got
}

func TestIntervalsOfAThreadAreReadWithoutOverlap(t *testing.T) {
	list := []Interval{ // in ms: the example of package attribute, and another thread and a process at that time
		{TID: 1, End: 10, Wall: 8}, {TID: 1, End: 32, Wall: 24}, {TID: 1, End: 40, Wall: 8},
		{TID: 2, End: 40, Wall: 40}, {TID: 2, End: 60, Wall: 5},
		{TID: 3, End: 10, Wall: 10}, {TID: 3, End: 20, Wall: 15}, {TID: 3, End: 50, Wall: 10}, // 5 too many until 20
		{TID: 4, End: 10, Wall: 10}, {TID: 4, End: 30, Wall: 25}, {TID: 4, End: 60, Wall: 30}, // 5 too many in all
		{TID: 5, End: 10, Wall: 10}, {TID: 5, End: 20, Wall: 15},
		{TID: 6, End: 4, Wall: 4}, {TID: 6, End: 5, Wall: 2}, {TID: 6, End: 100, Wall: 100},
		{End: 40, Wall: 30}, {End: 50, Wall: 30},
	}
	for i := range list {
		list[i].End, list[i].Wall = list[i].End*1e6, list[i].Wall*1e6
	}
	for tid, want := range map[int][]interval{
		1: {{0, 8e6}, {8e6, 32e6}, {32e6, 40e6}},
		2: {{0, 40e6}, {55e6, 60e6}},
		3: {{0, 10e6}, {10e6, 25e6}, {40e6, 50e6}},
		4: {{0, 10e6}, {5e6, 30e6}, {30e6, 60e6}},
		6: {{0, 4e6}, {2e6, 4e6}, {0, 100e6}}, // 6 too many: the order of ends stays
		5: {{0, 10e6}, {5e6, 20e6}},           // a quarter more than the thread had: it stays
		0: {{10e6, 40e6}, {20e6, 50e6}},       // of no single thread: they stay
	} {
		if got := readIntervals(t, tid, list...); !slices.Equal(got, want) {
			t.Errorf("thread %d: %v, want %v", tid, got, want)
		}
	}
}

func TestTimeOfEndedThreadsIsSpreadOverTheTimeInWhichItPassed(t *testing.T) {
	const second = int64(1e9)
	var list []Interval
	for range 30 { // 0.9 s in the first second, 1.8 s in the next one, of two CPUs
		list = append(list, Interval{End: second, Wall: 30e6}, Interval{End: 2 * second, Wall: 60e6})
	}
	changes, sum := map[int64]int64{}, int64(0)
	for _, i := range readIntervals(t, 0, list...) {
		changes[i.begin]++
		changes[i.end]--
		sum += i.end - i.begin
	}
	if want := 27 * second / 10; sum != want {
		t.Errorf("%d ns, want %d", sum, want)
	}
	running, most := int64(0), [2]int64{}
	for _, at := range slices.Sorted(maps.Keys(changes)) {
		running += changes[at]
		half := min(1, at/second)
		most[half] = max(most[half], running)
	}
	if most != [2]int64{1, 2} {
		t.Errorf("at most %d at once in the first and in the next second, want 1 and 2", most)
	}
}

// Random accounts: each interval ends at a moment, and has a part of the time that no interval has until then.
func TestAThreadsIntervalsFillItsLife(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var list []Interval
		at, left := int64(0), int64(0)
		for range 30 {
			grown := 1 + random.Int64N(20)
			at, left = at+grown, left+grown
			if wall := random.Int64N(left + 1); wall > 0 {
				list = append(list, Interval{TID: 1, End: at, Wall: wall})
				left -= wall
			}
		}
		list = append(list, Interval{TID: 1, End: at + 1, Wall: left + 1})
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		until := int64(0)
		for _, i := range readIntervals(t, 1, list...) {
			if i.begin != until {
				t.Fatalf("seed %d: one begins at %d, the one before ends at %d", seed, i.begin, until)
			}
			until = i.end
		}
		if until != at+1 {
			t.Errorf("seed %d: the last one ends at %d, want %d", seed, until, at+1)
		}
	}
}
