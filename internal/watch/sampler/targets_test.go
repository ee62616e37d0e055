// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/sys/unix"

	"prywalk/internal/account/runstats"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

type running struct {
	pid   int
	lines *bufio.Scanner
}

func start(t testing.TB, args ...string) *running {
	t.Helper()
	pid, says := testtargets.Threads(t, args...)
	return &running{pid: pid, lines: bufio.NewScanner(says)}
}

func (r *running) expect(t testing.TB, line string) {
	t.Helper()
	hung := time.AfterFunc(patience, func() { _ = unix.Kill(r.pid, unix.SIGKILL) })
	defer hung.Stop()
	if !r.lines.Scan() || r.lines.Text() != line {
		t.Fatalf("the target says %q, want %q", r.lines.Text(), line)
	}
}

func (r *running) signal(t testing.TB, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(r.pid, sig); err != nil {
		t.Fatal(err)
	}
}

func state(tid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

type recorded struct {
	runstats.Stats
	*pprof.Profile
	begun, ended time.Time
	period       time.Duration
	err          error
}

type names struct{ *symbols.Namer }

func (n names) Resolve(m *profile.ModuleInfo, addr uint64) []profile.Frame {
	ref := m.Origin
	if ref.Module == nil {
		return nil
	}
	return n.Frames(ref.Module, ref.PID, addr, nil)
}

const patience = 4 * time.Minute

func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !testtargets.Comes(holds) {
		t.Errorf("in vain: %s", what)
	}
}

func stopped(t testing.TB, s *Sampler, n int64) {
	t.Helper()
	await(t, "running threads are observed", func() bool { return s.Progress().Tracer.Stops >= n })
}

// record samples for d, or until the processes end, until during returned and a tenth of the ticks are done.
func record(t testing.TB, o target.SamplingOptions, d time.Duration, during func(*Sampler), pids ...int) *recorded {
	t.Helper()
	begun, ticks := time.Now(), int64(0)
	if o.MaxOverhead == 0 {
		ticks = int64(d.Seconds() * freqOf(&o) / 10)
	}
	enough := func(s *Sampler) bool { return time.Since(begun) >= d && s.Progress().Tracer.Ticks >= ticks }
	return run(t, o, enough, during, pids...)
}

func freqOf(o *target.SamplingOptions) float64 {
	if o.Freq == 0 {
		return 99
	}
	return o.Freq
}

func recordUntil(t testing.TB, o target.SamplingOptions, enough func(*recorded) bool, pids ...int) *recorded {
	t.Helper()
	return recordDuring(t, o, enough, nil, pids...)
}

func recordDuring(t testing.TB, o target.SamplingOptions, enough func(*recorded) bool, during func(*Sampler),
	pids ...int) *recorded {
	t.Helper()
	begun := time.Now()
	n := names{symbols.NewNamer()}
	defer n.Close()
	return run(t, o, func(s *Sampler) bool {
		s.CheckpointNow()
		g := s.Progress()
		r := &recorded{begun: begun, Profile: written(t, s.builder, n)}
		r.Ticks, r.Stops, r.Seconds = g.Tracer.Ticks, g.Tracer.Stops, time.Since(begun).Seconds()
		return enough(r)
	}, during, pids...)
}

func opened(t testing.TB, images *loadedcode.ImageCache, pids []int) (procs []*loadedcode.Process) {
	t.Helper()
	for _, pid := range pids {
		p, err := images.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		procs = append(procs, p)
	}
	return procs
}

func run(t testing.TB, o target.SamplingOptions, enough func(*Sampler) bool, during func(*Sampler),
	pids ...int) *recorded {
	t.Helper()
	return runInto(t, builderOf(&o), o, enough, during, pids...)
}

func periodOf(o *target.SamplingOptions) time.Duration { return time.Duration(1e9 / freqOf(o)) }

func builderOf(o *target.SamplingOptions) *profile.Builder {
	return profile.NewBuilder(profile.Meta{Start: time.Now(), Period: periodOf(o)})
}

func runInto(t testing.TB, b *profile.Builder, o target.SamplingOptions, enough func(*Sampler) bool,
	during func(*Sampler),
	pids ...int) *recorded {
	t.Helper()
	o.Freq = freqOf(&o)
	images := loadedcode.NewImageCache(0)
	defer images.Close()
	procs := opened(t, images, pids)
	r := &recorded{begun: time.Now(), period: periodOf(&o)}
	s := New(o, b, images, procs)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var events, watch sync.WaitGroup
	if during != nil {
		events.Go(func() { during(s) })
	}
	over := make(chan struct{})
	watch.Go(func() {
		defer cancel()
		for end := time.Now().Add(patience); ; {
			asked := time.Now()
			if enough(s) {
				break
			}
			select {
			case <-over:
				return
			case <-time.After(max(30*time.Millisecond, 4*time.Since(asked))): // it may write and parse a profile
			}
			if time.Now().After(end) {
				t.Error("the recording never holds what is wanted")
				return
			}
		}
		events.Wait()
	})
	r.Stats, r.err = s.Run(ctx)
	r.ended = time.Now()
	close(over)
	events.Wait()
	watch.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	n := names{symbols.NewNamer()}
	defer n.Close()
	r.Profile = written(t, b, n)
	if r.err == nil {
		r.check(t)
	}
	return r
}

func written(t testing.TB, b *profile.Builder, n names) *pprof.Profile {
	t.Helper()
	var file bytes.Buffer
	err := b.Write(&file, n)
	if err == nil {
		var p *pprof.Profile
		if p, err = pprof.ParseData(file.Bytes()); err == nil {
			return p
		}
	}
	t.Error(err)
	return &pprof.Profile{}
}

func (r *recorded) check(t testing.TB) {
	t.Helper()
	if got := r.Stops + r.PassiveReads + r.Unchanged + sum(r.Failed); got != r.Attempted {
		t.Errorf("attempted %d = %d stops + %d passive reads + %d unchanged + %v", r.Attempted, r.Stops, r.PassiveReads,
			r.Unchanged, r.Failed)
	}
	if err := r.CheckValid(); err != nil {
		t.Error(err)
	}
	var samples, cpu int64
	for _, s := range r.Sample {
		samples += s.Value[0]
		cpu += s.Value[3]
		r.checkSample(t, s)
	}
	counted := r.Stops + r.PassiveReads + r.Unchanged + r.Inferred + r.KernelSampled - r.UnassignedSamples
	if samples != r.Samples || samples != counted {
		t.Errorf("%d samples in the profile, %d counted, of %d stops + %d passive reads + %d unchanged + %d inferred + "+
			"%d by the kernel - %d unassigned",
			samples, r.Samples, r.Stops, r.PassiveReads, r.Unchanged, r.Inferred, r.KernelSampled, r.UnassignedSamples)
	}
	if got := float64(cpu) / 1e9; got < r.ProfiledCPU-1e-6 || got > r.ProfiledCPU+1e-6 {
		t.Errorf("%v s of CPU in the profile, %v counted", got, r.ProfiledCPU)
	}
}

func (r *recorded) checkSample(t testing.TB, s *pprof.Sample) {
	t.Helper()
	wall, runq, cpu := time.Duration(s.Value[1]), time.Duration(s.Value[2]), time.Duration(s.Value[3])
	if s.Value[0] < 0 || runq < 0 || cpu < 0 || wall < runq+cpu {
		t.Errorf("values %v of %v", s.Value, s.Label)
	}
	end := time.Duration(s.NumLabel["end_timestamp_ns"][0])
	if end > time.Duration(r.ended.UnixNano()) {
		t.Errorf("an interval ends %v after the recording: %v", end-time.Duration(r.ended.UnixNano()), stack(s))
	}
	if early := time.Duration(r.begun.UnixNano()) - (end - wall); early > max(r.period, 10*time.Millisecond) {
		t.Errorf("an interval begins %v before the recording: %v %v", early, s.Value, stack(s))
	}
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func stack(s *pprof.Sample) []string {
	var out []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			out = append(out, line.Function.Name)
		}
	}
	return out
}

func label(s *pprof.Sample, key string) string {
	if v := s.Label[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (r *recorded) sumOf(column int, holds func(*pprof.Sample) bool) (n time.Duration) {
	for _, s := range r.Sample {
		if holds(s) {
			n += time.Duration(s.Value[column])
		}
	}
	return n
}

func (r *recorded) count(holds func(*pprof.Sample) bool) (n int) {
	for _, s := range r.Sample {
		if holds(s) {
			n++
		}
	}
	return n
}

func in(function string) func(*pprof.Sample) bool {
	return func(s *pprof.Sample) bool {
		for _, f := range stack(s) {
			if f == function {
				return true
			}
		}
		return false
	}
}

func seconds(ns time.Duration) float64 { return float64(ns) / 1e9 }
