// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

func labels(s *profile.Sample, pid, tid int64, text ...string) {
	for i := 0; i < len(text); i += 2 {
		s.Label[text[i]] = []string{text[i+1]}
	}
	for key, n := range map[string]int64{rec.LabelPID: pid, rec.LabelTID: tid} {
		if n != 0 {
			s.NumLabel[key] = []int64{n}
		}
	}
}

func TestGroupsOfSamplesByEachWay(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	labels(r.add("f", 5), 7, 8, rec.LabelComm, "app", rec.LabelThread, "worker", rec.LabelState, "running", "tenant", "a")
	labels(r.add("f", 4), 7, 7, rec.LabelComm, "app", rec.LabelState, "sleeping", "tenant", "b", "zone", "z")
	labels(r.addStack([]*profile.Location{r.location("read", "/lib/libc.so.6"), r.location("f", "/srv/app")}, 3), 9, 9,
		rec.LabelComm, "app")
	labels(r.addStack(nil, 2), 7, 0, rec.LabelComm, "app", rec.LabelThread, "[children: make]")
	labels(r.addStack(nil, 1), 0, 0)
	for by, want := range map[string][]string{
		"thread": {"worker (tid 8) of pid 7 5", "app (tid 7) 4", "app (tid 9) 3", "[children: make] app (pid 7) 2",
			"[no thread] 1"},
		"process":      {"app (pid 7) 11", "app (pid 9) 3", "[no process] 1"},
		"command":      {"app 12", "make 2", "[no process] 1"},
		"state":        {"[no state] 6", "running 5", "sleeping 4"},
		"module":       {"app 9", "[none] 3", "libc.so.6 3"},
		"label":        {"[no labels] 6", "tenant=a 5", "tenant=b, zone=z 4"},
		"label:tenant": {"[no label tenant] 6", "a 5", "b 4"},
		"label:comm":   {"[no label comm] 15"},
	} {
		var got []string
		samples := 0
		for _, g := range r.data(t, Options{By: by}).Groups(by) {
			got = append(got, fmt.Sprintf("%s %d", g.Name, g.Value))
			samples += len(g.Samples)
		}
		if !slices.Equal(got, want) || samples != 5 {
			t.Errorf("by %s: %q of %d samples, want %q", by, got, samples, want)
		}
	}
}

func TestThreadsOfOneProcessAreNamedWithoutIt(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	labels(r.add("f", 2), 7, 8, rec.LabelComm, "app", rec.LabelThread, "worker")
	labels(r.add("f", 1), 7, 8, rec.LabelTask, languages.GoroutineTask, rec.LabelThread, "main.serve")
	var got []string
	for _, g := range r.data(t, Options{By: "thread"}).Groups("thread") {
		got = append(got, g.Name)
	}
	if want := []string{"worker (tid 8)", "goroutine main.serve"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestIdleWaitsAreTheLastGroups(t *testing.T) {
	r := newRecording(rec.TypeWall)
	for wait, v := range map[string]int64{"futex": 1, "accept4": 100} {
		labels(r.add("serve", v), 7, 7, rec.LabelState, "sleeping", rec.LabelWait, wait)
	}
	for _, noIdle := range []bool{false, true} {
		got := r.data(t, Options{By: "wait", NoIdle: noIdle}).Groups("wait")
		if len(got) != 2 || (got[1].Value == 100) == noIdle {
			t.Errorf("NoIdle %v: %v, then %v", noIdle, got[0].Value, got[1].Value)
		}
	}
}

func TestAThreadThatIsJoinedIsNotIdle(t *testing.T) {
	r := newRecording(rec.TypeWall)
	for _, tid := range []int64{8, 9} {
		labels(r.add("consumer", 1), 7, tid, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor,
			"condition ready")
	}
	join := r.add("main", 1)
	labels(join, 7, 7, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor,
		"join thread 8")
	join.NumLabel[rec.LabelOwner] = []int64{8}
	var got []string
	for _, g := range r.data(t, Options{By: "wait"}).Groups("wait") {
		got = append(got, g.Name)
	}
	const mark = " [idle? its function is called consumer]"
	want := []string{"futex: condition ready", "futex: join in main", "futex: condition ready" + mark}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThreadsThatAFunctionJoinsInTurnAreOneGroup(t *testing.T) {
	r := newRecording(rec.TypeWall)
	for _, joined := range []string{"join thread 8", "join thread 9"} {
		labels(r.add("order", 1), 7, 7, rec.LabelState, "sleeping", rec.LabelWait, "futex", rec.LabelWaitsFor, joined)
	}
	groups := r.data(t, Options{By: "wait"}).Groups("wait")
	if len(groups) != 1 || groups[0].Name != "futex: join in order" {
		t.Errorf("%+v, want one group of both", groups)
	}
}

// A condition for two purposes: its consumers can wait for a wake-up that a producer has got.
func TestAWaitWithOthersThatWorkIsNotIdleByItsName(t *testing.T) {
	const guess = " [idle? its function is called consumer]"
	for other, mark := range map[string]string{"condition 0x10": "", "condition 0x20": guess} {
		r := newRecording(rec.TypeWall)
		for function, object := range map[string]string{"consumer": "condition 0x10", "put": other} {
			labels(r.add(function, 1), 7, int64(len(function)), rec.LabelState, "sleeping", rec.LabelWait, "futex",
				rec.LabelWaitsFor, object)
		}
		var got []string
		for _, g := range r.data(t, Options{By: "wait"}).Groups("wait") {
			got = append(got, g.Name)
		}
		slices.Sort(got)
		if want := []string{"futex: condition in consumer" + mark, "futex: condition in put"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWaysToGroupAreChecked(t *testing.T) {
	for by, want := range map[string]bool{"thread": true, "label": true, "label:x": true, "label:": false, "labels": false,
		"": false, "threads": false} {
		if got := IsGrouping(by); got != want {
			t.Errorf("%q: %v", by, got)
		}
		if _, err := Filter(&newRecording(rec.TypeCPU).Profile, Options{By: by}); (err == nil) != (want || by == "") {
			t.Errorf("%q: %v", by, err)
		}
	}
}

func TestBlockedTimeIsTheRestOfWallTime(t *testing.T) {
	r := newRecording(rec.TypeCPU, rec.TypeWall, rec.TypeRunQueue)
	r.add("f", 30, 100, 10)
	r.add("f", 50, 50, 5)
	if got, ok := r.selection().Clocks(r.Sample); !ok || got != (Clocks{CPU: 80, RunQueue: 15, Blocked: 150 - 80 - 15}) {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := r.selection().Clocks(r.Sample[1:]); !ok || got != (Clocks{CPU: 50, RunQueue: 5}) {
		t.Errorf("more than wall time: %+v, %v", got, ok)
	}
	if _, ok := newRecording(rec.TypeCPU, rec.TypeWall).selection().Clocks(nil); ok {
		t.Error("without the clock of the run queue")
	}
}

func TestSamplesOfOneTimeKeepTheirOrder(t *testing.T) {
	r := newRecording(rec.TypeCPU)
	for i, end := range []int64{5, 3, 5, 3, 1} {
		r.add("f", int64(i)).NumLabel[rec.LabelEnd] = []int64{end}
	}
	SortByTime(r.Sample)
	var got []int64
	for _, s := range r.Sample {
		got = append(got, s.Value[0])
	}
	if want := []int64{4, 1, 3, 0, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
