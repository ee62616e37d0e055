// SPDX-License-Identifier: Apache-2.0

package view

import (
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

func TestThreadsThatOnlySleepInASchedulerAreCountedApart(t *testing.T) {
	r := newRecording(rec.TypeSamples, rec.TypeWall, rec.TypeRunQueue, rec.TypeCPU)
	idle := []*profile.Location{r.location("runtime.futex", "/srv/app"), r.location("runtime.schedule", "/srv/app")}
	for tid, wall := range map[int64]int64{1: 100, 2: 0} { // 0 means that the time is another sample's
		s := r.addStack(idle, 3, wall, 0, 0)
		s.Label[rec.LabelState] = []string{"sleeping"}
		s.NumLabel[rec.LabelPID], s.NumLabel[rec.LabelTID] = []int64{7}, []int64{tid}
	}
	s := r.add("main.serve", 5, 80, 0, 80)
	s.NumLabel[rec.LabelPID], s.NumLabel[rec.LabelTID] = []int64{7}, []int64{3}
	s = r.add("main.serve", 0, 80, 0, 0)
	s.Label[rec.LabelState], s.Label[rec.LabelTask] = []string{"sleeping"}, []string{languages.GoroutineTask}
	s.NumLabel[rec.LabelPID] = []int64{7}
	for focus, hidden := range map[string]int{
		"": 2, "serve": 0, // of the others it is not known whether the filter excludes them
	} {
		if s := r.data(t, Options{Focus: focus}).Summary(); s.Threads != 1 || s.Hidden != hidden || s.Samples != 5 {
			t.Errorf("%q: %+v, want 1 thread, %d hidden, 5 samples", focus, s, hidden)
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
