// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"errors"
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/perfevents"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// rig is an engine with a minimal tracer: one process, each thread observed at each tick.
type rig struct {
	*Engine
	of      *target.Process
	list    []*target.Thread
	stopped int
	more    time.Duration // CPU time added to the process, ns
	ticks   int64
	threads map[*observe.Thread]*target.Thread
}

func (r *rig) RecordObservation(ptrace.Moment) {}

func (r *rig) GapEnd() ptrace.Moment { return 0 }

func (r *rig) ReadClocks(ptrace.Moment) {
	if cpu, err := procmem.ProcessCPU(r.of.Code.PID); err == nil {
		r.of.Clock.Now = time.Duration(cpu)
	}
}

func (r *rig) ReadTargetCPU(now ptrace.Moment) time.Duration {
	r.ReadClocks(now)
	return r.of.Clock.CPUTime() + r.more
}

func (r *rig) HasObservation() bool { return r.stopped > 0 }

func (r *rig) tick() {
	now := ptrace.Now()
	r.ticks++
	r.shared.Tick = target.Tick{At: now}
	r.shared.Backoff.BeginTick(r.ticks, now, 1e7)
	r.BeginTick(now, false)
	r.DrainAll(now)
	for _, th := range r.list {
		th.EnginePart.BeforeObservation()
		outcome, raw, err := r.shared.Observer.Begin(th.Observed)
		switch {
		case err != nil:
		case outcome == observe.Unchanged:
			th.EnginePart.ClocksRead(procmem.ReadingAt(th.Observed.LastClocks(), int64(now)))
		case outcome == observe.LeftToEngine:
			th.EnginePart.FoundRunning()
		case outcome == observe.Done:
			r.done(th.Observed, raw, nil)
		}
	}
	for until := ptrace.Now().Add(5e6); r.done(r.shared.Observer.Stops.Next(until)); {
	}
	r.EndTick()
	r.shared.Out.HandOver(now)
	for len(r.shared.Queue.Batches()) > 0 {
		b := <-r.shared.Queue.Batches()
		for i := range b {
			r.shared.Pool.Put(b[i].RawSample)
		}
		r.shared.Queue.Put(b)
	}
}

func (r *rig) done(l *observe.Thread, s *observe.RawSample, err error) bool {
	if l == nil || err != nil {
		return l != nil
	}
	th := r.threads[l]
	if s.How == observe.ByStop {
		r.stopped++
	}
	th.EnginePart.ClocksRead(procmem.ReadingAt(s.Sched, int64(s.At)))
	th.EnginePart.AfterObservation(s)
	r.shared.Pool.Put(s)
	return true
}

func (r *rig) track(t *testing.T) {
	tids, err := r.of.TaskDir.List(nil)
	if err != nil {
		t.Error(err)
	}
	r.of.EnginePart = r.Track(r.of)
	for i, tid := range tids {
		l := observe.NewThread(r.of.Code.PID, tid, r.shared.Files)
		l.Memory, l.Plans = r.of.Code.Memory(), &r.of.Plans
		th := &target.Thread{
			ID: sample.ThreadID(i + 1), Proc: r.of, TID: tid, Observed: l,
		}
		r.of.Backoff.Add(th)
		r.list, r.threads[l] = append(r.list, th), th
		th.EnginePart = r.of.EnginePart.TrackThread(th)
	}
}

func (r *rig) end() {
	r.shared.Ending = true
	for _, th := range r.list {
		r.shared.Observer.Stops.Cancel(th.Observed)
		th.EnginePart.Ended(true)
		th.Observed.Close()
	}
	r.of.EnginePart.Ended()
	r.End()
	r.of.TaskDir.Close()
}

func onRig(t *testing.T, s *Source, o *target.SamplingOptions, f func(*rig), args ...string) {
	t.Helper()
	pid, _ := testtargets.Threads(t, args...)
	opened, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	of := target.NewProcess(opened, false, 0)
	of.ID = 1
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		run := newRun()
		run.Observer = observe.New(ctl, run.Pool, observe.ModeAuto)
		defer run.Observer.Close()
		r := &rig{
			of: of, threads: map[*observe.Thread]*target.Thread{},
		}
		r.of.Backoff = target.NewProcessBackoff(&r.of.Clock)
		r.ReadClocks(0)
		r.of.Clock.First = r.of.Clock.Now
		r.Engine = s.Start(run, r, o).(*Engine)
		r.track(t)
		defer r.end()
		f(r)
	})
}

func newRun() *target.SharedState {
	common := target.NewCommon()
	return &target.SharedState{
		Common: common, Files: procmem.NewFDBudget(512), Backoff: target.NewBackoffs(1),
		Out: target.NewOutbox(common.Queue),
	}
}

func sampling(t *testing.T, o perfevents.ReaderOptions) *Source {
	t.Helper()
	r, err := perfevents.Open(o)
	if errors.Is(err, perfevents.ErrDenied) || errors.Is(err, perfevents.ErrUnsupported) {
		t.Skipf("needs kernel samples: sudo make test, on a kernel with perf events (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return &Source{Events: r}
}
