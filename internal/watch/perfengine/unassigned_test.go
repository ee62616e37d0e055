// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"os"
	"testing"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func reported(r *target.SharedState) map[*target.Process][]ptrace.Moment {
	at := map[*target.Process][]ptrace.Moment{}
	r.Out.HandOver(0)
	for len(r.Queue.Batches()) > 0 {
		for _, e := range <-r.Queue.Batches() {
			if _, ok := e.What.(*attribute.UnassignedSample); ok {
				at[e.Proc] = append(at[e.Proc], e.RawSample.At)
			}
		}
	}
	return at
}

func TestSamplesWaitForTheirThreadAndAreReportedOtherwise(t *testing.T) {
	run := newRun()
	c := &unassignedSamples{shared: run}
	p, q := &process{tracked: &target.Process{}}, &process{
		tracked: &target.Process{},
	}
	const now ptrace.Moment = 10e9
	run.Tick.At = now
	for _, u := range []unassignedSample{
		{p, 7, &observe.RawSample{At: now.Add(-1)}}, {q, 7, &observe.RawSample{At: now.Add(-2)}},
		{p, 8, &observe.RawSample{At: now.Add(-unassignedFor).Add(-1)}}, {p, 9, &observe.RawSample{At: now.Add(-3)}},
	} {
		c.keep(u.proc, u.tid, u.raw)
	}
	th := &thread{proc: p, tracked: &target.Thread{
		Observed: observe.NewThread(1, 7, nil), CreatedAt: now,
	}}
	c.assign(th)
	if len(th.unplaced) != 1 || th.unplaced[0].At != now.Add(-1) || th.tracked.CreatedAt != now.Add(-1) {
		t.Errorf("%d samples were assigned; created at %d", len(th.unplaced), th.tracked.CreatedAt)
	}
	if c.reportOverdue(); len(c.list) != 2 || run.Unassigned != 1 {
		t.Errorf("%d samples wait, %d are reported", len(c.list), run.Unassigned)
	}
	if c.reportProcess(q); len(c.list) != 1 {
		t.Errorf("%d samples wait after the end of a process", len(c.list))
	}
	run.Ending = true
	if c.reportOverdue(); len(c.list) != 0 || run.EngineSamples != 3 || run.Unassigned != 3 {
		t.Errorf("%d samples wait at the end; %d sampled, %d reported", len(c.list), run.EngineSamples, run.Unassigned)
	}
	if got := reported(run); len(got[p.tracked]) != 2 || len(got[q.tracked]) != 1 {
		t.Errorf("reported: %v", got)
	}
}

func TestSamplesOfAThreadWithoutClocksKeepTheirMoment(t *testing.T) {
	run, proc := newRun(), &target.Process{}
	s := &samples{shared: run}
	const at ptrace.Moment = 10e9
	th := &thread{
		proc:     &process{tracked: proc},
		tracked:  &target.Thread{Proc: proc},
		unplaced: []*observe.RawSample{{At: at}},
	}
	s.reportUnplaced(th)
	if got := reported(run)[proc]; len(got) != 1 || got[0] != at || len(th.unplaced) != 0 {
		t.Errorf("reported: %v, %d samples wait", got, len(th.unplaced))
	}
}

func TestNoMoreThanABoundedNumberOfSamplesWaitsForThreads(t *testing.T) {
	run := newRun()
	procs, n := &processes{sampledByPID: map[int]*process{}}, &sampleCounts{}
	s := &samples{
		shared: run, unassigned: &unassignedSamples{shared: run}, procs: procs,
		childSamples: &childSamples{counts: n}, counts: n,
	}
	p := &process{tracked: &target.Process{}}
	dir, err := procmem.OpenTasks(os.Getpid(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err = p.tracked.Threads.Read(dir, 1, 0); err != nil {
		t.Fatal(err)
	}
	p.tracked.Clock.Valid = true // idle: without a hint, the list is not due
	listDue := func() bool { return p.tracked.Threads.Due(5e8, &p.tracked.Clock, 0) }
	if listDue() {
		t.Error("the list is due before a sample of an unknown thread")
	}
	for range maxUnassigned {
		s.unassigned.keep(p, 1, &observe.RawSample{})
	}
	s.keepUnassigned(p, &perfevents.Record{TID: 1})
	if n.dropped != 1 || len(s.unassigned.list) != maxUnassigned || !listDue() {
		t.Errorf("%d dropped, %d wait, list due: %v", n.dropped, len(s.unassigned.list), listDue())
	}
}
