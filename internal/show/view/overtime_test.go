// SPDX-License-Identifier: Apache-2.0

package view

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/store/profile"
)

const start = int64(1e15)

func newTimedRecording(length time.Duration) *recording {
	r := newRecording(rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU)
	r.TimeNanos, r.DurationNanos, r.Period = start, length.Nanoseconds(), 10e6
	return r
}

// waits adds a thread that waits from one time to another, in ms.
func (r *recording) waits(from, to int64) {
	s := r.add("save", 1, (to-from)*1e6, 0, 0)
	s.NumLabel[rec.LabelEnd] = []int64{start + to*1e6}
}

func atOnce(t *testing.T, r *recording, o Options) AtOnce {
	t.Helper()
	d := r.data(t, o)
	x := d.AtOnce(d.Profile.Sample)
	if x == nil {
		t.Fatal("no times")
	}
	return *x
}

// means has those of the parts that are not 0.
func means(parts map[int]float64) []float64 {
	list := make([]float64, overTimeParts)
	for i, m := range parts {
		list[i] = m
	}
	return list
}

// Six at once for 0.3 s, three times in 30 s: 0.2 on average.
func TestBurstsAreFoundThatTheMeanHides(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	for _, at := range []int64{26500, 6500, 16500} {
		for range 6 {
			r.waits(at, at+300)
		}
	}
	r.waits(1000, 1005) // less than a tick
	x := atOnce(t, r, Options{})
	want := AtOnce{Most: 6, Bursts: []Burst{{6.5e9, 0.3e9}, {16.5e9, 0.3e9}, {26.5e9, 0.3e9}}, To: 30e9,
		Means: means(map[int]float64{1: 0.005, 6: 1.8, 16: 1.8, 26: 1.8})}
	if !reflect.DeepEqual(x, want) {
		t.Errorf("%+v, want %+v", x, want)
	}
	x = atOnce(t, r, Options{From: 16600 * time.Millisecond, To: 22600 * time.Millisecond})
	want = AtOnce{Most: 6, From: 16.6e9, To: 22.6e9, Bursts: []Burst{{16.6e9, 0.2e9}}, Means: means(map[int]float64{0: 6})}
	if !reflect.DeepEqual(x, want) {
		t.Errorf("a part: %+v, want %+v", x, want)
	}
}

func TestSteadyGroupsHaveNoBursts(t *testing.T) {
	for name, build := range map[string]func(r *recording){
		"always six": func(r *recording) {
			for range 6 {
				r.waits(0, 30000)
			}
		},
		"one at a time": func(r *recording) {
			for at := int64(0); at < 30000; at += 3000 {
				r.waits(at, at+300)
			}
		},
		"half of the time": func(r *recording) {
			for range 6 {
				r.waits(0, 15000)
			}
		},
		"six for less than a tick": func(r *recording) {
			for range 6 {
				r.waits(5000, 5009)
			}
		},
	} {
		r := newTimedRecording(30 * time.Second)
		build(r)
		if x := atOnce(t, r, Options{}); x.Bursts != nil {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

func TestShortGapsDoNotEndABurst(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	for _, at := range []int64{1000, 1200, 9000} {
		r.waits(at, at+110)
		r.waits(at, at+110)
	}
	want := []Burst{{1e9, 0.31e9}, {9e9, 0.11e9}}
	if x := atOnce(t, r, Options{}); !slices.Equal(x.Bursts, want) {
		t.Errorf("%+v, want %+v", x.Bursts, want)
	}
}

func TestSumsWithoutTimesHaveNoBursts(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	delete(r.add("save", 1, 1e9, 0, 0).NumLabel, rec.LabelEnd)
	d := r.data(t, Options{})
	if x := d.AtOnce(d.Profile.Sample); x != nil {
		t.Errorf("%+v", x)
	}
}

// Threads that run and those that are ready are two groups, whose values add up to the samples'.
func TestTimeInTheRunQueueIsAGroupOfItsOwn(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	labels(r.add("hash", 7, 1000, 900, 100), 7, 7, rec.LabelState, "running")
	labels(r.add("read", 1, 50, 10, 0), 7, 7, rec.LabelState, "sleeping", rec.LabelWait, "read")
	sums := map[string][]int64{}
	for _, g := range r.data(t, Options{}).Groups("wait") {
		sums[g.Name] = make([]int64, 4)
		for _, s := range g.Samples {
			for i, v := range s.Value {
				sums[g.Name][i] += v
			}
		}
	}
	want := map[string][]int64{WaitsForCPU: {0, 900, 900, 0}, "[running]": {7, 100, 0, 100}, "read": {1, 50, 10, 0}}
	if !reflect.DeepEqual(sums, want) {
		t.Errorf("%v, want %v", sums, want)
	}
}

func FuzzAtOnceIsWithinTheSamples(f *testing.F) {
	f.Add(int64(1e9), int64(10e6), int64(5e8), int64(3e8))
	f.Add(int64(1), int64(0), int64(-5), int64(1)<<62)
	f.Fuzz(func(t *testing.T, length, period, end, wall int64) {
		r := newTimedRecording(time.Duration(length))
		r.Period = period
		for range 3 {
			s := r.add("save", 1, wall, 0, 0)
			s.NumLabel[rec.LabelEnd] = []int64{end}
		}
		r.PeriodType = &profile.ValueType{}
		d, err := New(&r.Profile, Options{})
		if err != nil {
			return
		}
		defer d.Memory.Close()
		if x := d.AtOnce(d.Profile.Sample); x != nil && (x.Most > 3 || len(x.Bursts) > 1) {
			t.Errorf("%+v", x)
		}
	})
}

func TestTheConclusionNamesBurstsOfSafepoints(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	stack := []*profile.Location{r.location("SafepointSynchronize::block", "/usr/lib/libjvm.so"),
		r.location("Shop.list", "[HotSpot 17.0.15]")}
	for _, at := range []int64{6500, 16500, 26500} {
		for tid := range int64(6) {
			s := r.addStack(stack, 1, 1e9, 0, 0)
			labels(s, 7, 10+tid, rec.LabelWait, "futex", rec.LabelWaitsFor, "futex 0x10", rec.LabelState, "sleeping")
			s.NumLabel[rec.LabelEnd] = []int64{start + (at+1000)*1e6}
		}
	}
	const want = "mostly waiting: 6 threads (up to 6 at once, in 3 bursts) in futex (a safepoint of the JVM) of Shop.list"
	if got := r.data(t, Options{}).Conclusion(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheConclusionNamesBursts(t *testing.T) {
	r := newTimedRecording(30 * time.Second)
	for _, at := range []int64{6500, 16500, 26500} {
		for range 6 {
			r.waits(at, at+300)
			s := r.Sample[len(r.Sample)-1]
			labels(s, 7, 0, rec.LabelTask, "goroutine", rec.LabelWait, "sync.Mutex.Lock", rec.LabelState, "sleeping")
		}
	}
	const want = "mostly waiting: about 1 goroutine (up to 6 at once, in 3 bursts) for sync.Mutex.Lock in save"
	if got := r.data(t, Options{}).Conclusion(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
