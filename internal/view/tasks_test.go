// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/languages"
	rec "prywalk/internal/profile"
)

func TestThreadsThatOnlySleepInASchedulerAreCountedApart(t *testing.T) {
	r := newRecording(rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU)
	idle := []*profile.Location{r.location("runtime.futex", "/srv/app"), r.location("runtime.schedule", "/srv/app")}
	for tid, wall := range map[int64]int64{1: 100, 2: 0} { // 0: the time is another sample's
		s := r.addStack(idle, 3, wall, 0, 0)
		s.Label[rec.LabelState] = []string{"sleeping"}
		s.NumLabel[rec.LabelPID], s.NumLabel[rec.LabelTID] = []int64{7}, []int64{tid}
	}
	s := r.add("main.serve", 5, 80, 0, 80)
	s.NumLabel[rec.LabelPID], s.NumLabel[rec.LabelTID] = []int64{7}, []int64{3}
	s = r.add("main.serve", 0, 80, 0, 0)
	s.Label[rec.LabelState], s.Label[rec.LabelTask] = []string{"sleeping"}, []string{languages.GoroutineTask}
	s.NumLabel[rec.LabelPID] = []int64{7}
	for focus, want := range map[string][2]string{
		"":      {"1 of 3 threads", "5 of 11 samples (the others: threads asleep in Go's scheduler)"},
		"serve": {"1 thread", "5 samples"}, // of the others it is not known whether the filter excludes them
	} {
		d := r.data(t, Options{Focus: focus})
		sum := d.Summary()
		if got := d.Totals(&sum)[0]; got != want[1] {
			t.Errorf("%q: %s, want %s", focus, got, want[1])
		}
		if got := sum.Parts(""); got[len(got)-1] != want[0] {
			t.Errorf("%q: %q, want %s", focus, got, want[0])
		}
	}
}

func TestBlockedTimeOfASchedulerIsLeftOutWhereItsTasksAreRecorded(t *testing.T) {
	const scheduler, other = 7, 8
	build := func() *recording {
		r := newRecording(rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU)
		idle := []*profile.Location{r.location("runtime.futex", "/srv/app"), r.location("runtime.schedule", "/srv/app")}
		for _, pid := range []int64{scheduler, other} {
			s := r.addStack(idle, 3, 100, 20, 30)
			s.Label[rec.LabelState], s.NumLabel[rec.LabelPID] = []string{"sleeping"}, []int64{pid}
		}
		s := r.add("main.serve", 0, 80, 0, 0)
		s.Label[rec.LabelState], s.Label[rec.LabelTask] = []string{"sleeping"}, []string{languages.GoroutineTask}
		s.NumLabel[rec.LabelPID] = []int64{scheduler}
		return r
	}
	for native, want := range map[bool][4]int64{false: {3, 230, 40, 60}, true: {6, 280, 40, 60}} {
		d := build().data(t, Options{Native: native, Value: TypeBlocked})
		got := [4]int64{d.Total(0), d.Total(1), d.Total(2), d.Total(3)}
		blocked := d.Total(d.ValueIndex)
		if got != want || blocked != want[1]-want[2]-want[3] || d.SchedulerBlocked+want[1] != 280 ||
			d.EventLoopBlocked != 0 {
			t.Errorf("native %v: %v, blocked %d, left out %d; want %v", native, got, blocked, d.SchedulerBlocked, want)
		}
	}
}
