// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"testing"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

func TestAHeldSamplerObservesNothing(t *testing.T) {
	p := start(t, "burners", "2")
	images := loadedcode.NewImageCache(0)
	defer images.Close()
	process, err := images.Open(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	b := profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Millisecond, Aggregate: true})
	s := New(target.SamplingOptions{Freq: 500}, b, images, []*loadedcode.Process{process})
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan runstats.Stats, 1)
	go func() {
		st, _ := s.Run(ctx)
		done <- st
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		testtargets.Eventually(t, what, ok)
	}
	used := func() uint64 {
		ns, err := procmem.ProcessCPU(p.pid)
		if err != nil {
			t.Error(err)
		}
		return ns
	}
	for range 5 {
		ticks := s.Progress().Tracer.Ticks
		until("ticking", func() bool { return s.Progress().Tracer.Ticks > ticks+5 })
		s.Hold()
		until("held", s.Held)
		before, cpu := s.Progress(), used()
		until("the target runs on", func() bool { return used() > cpu+20e6 })
		if after := s.Progress(); after.Tracer.Ticks != before.Tracer.Ticks || after.Tracer.Stops != before.Tracer.Stops ||
			after.Tracer.MissedTicks != before.Tracer.MissedTicks {
			t.Errorf("held, it went from %+v to %+v", before, after)
		}
		noThreadIsTraced(t, p.pid)
		s.Resume()
		until("resumed", func() bool { return !s.Held() })
	}
	until("observed", func() bool { return s.Progress().Tracer.Stops > 0 })
	cancel()
	st := bounded.Receive(t, "the recording ends", done)
	if d := st.TargetCPU - st.ProfiledCPU; d < -0.002 || d > 0.002 || st.Samples == 0 {
		t.Errorf("%v s of the target, %v in the profile, %d samples", st.TargetCPU, st.ProfiledCPU, st.Samples)
	}
}

func TestEndOfASamplerHeldBeforeTheFirstTick(t *testing.T) {
	p := start(t, "burners", "1")
	images := loadedcode.NewImageCache(0)
	defer images.Close()
	o := target.SamplingOptions{Freq: 99}
	s := New(o, builderOf(&o), images, opened(t, images, []int{p.pid}))
	defer s.Close()
	s.Hold()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(ctx)
		done <- err
	}()
	await(t, "the run is held", s.Held)
	cancel()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the run goes on")
	}
}

func noThreadIsTraced(t *testing.T, pid int) {
	t.Helper()
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tid := range tids {
		var st procmem.Status
		f := procmem.OpenThread(pid, tid, nil)
		err := f.Status(&st)
		f.Close()
		if err != nil || st.TracerPid != 0 {
			t.Errorf("thread %d is traced by %d: %v", tid, st.TracerPid, err)
		}
	}
}
