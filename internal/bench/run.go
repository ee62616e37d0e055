package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sampler"
	"prywalk/internal/target"
)

// Run measures a plan and tells each row as it is done.
func Run(ctx context.Context, p Plan, version string, each func(Row)) (*Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find prywalk's own file to start the workload: %w", err)
	}
	res := &Result{Machine: machine(version), Rows: []Row{}}
	for _, running := range p.Running {
		for _, n := range p.Threads {
			rows, err := p.subject(ctx, self, min(running, n), n, res)
			if err != nil {
				return res, err
			}
			for _, row := range rows {
				res.Rows = append(res.Rows, row)
				each(row)
			}
		}
	}
	return res, nil
}

// subject measures one workload at all frequencies.
func (p Plan) subject(ctx context.Context, self string, running, threads int, res *Result) ([]Row, error) {
	s, err := startSubject(self, running, threads-running)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rows []Row
	for _, freq := range p.Freqs {
		row := Row{Threads: threads, Running: running, Freq: freq}
		m := &measurement{subject: s, plan: p, row: &row, res: res}
		if err := m.run(ctx); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// measurement gathers the pairs of one row.
type measurement struct {
	subject *subject
	plan    Plan
	row     *Row
	res     *Result
	ratios  []float64
	sums    sums
}

// sums adds up what the windows with sampling did.
type sums struct {
	seconds, cpu         float64
	ticks, frozen, calls int64
	samples, complete    int64
	freezeP50            []float64
	freezeP99, freezeMax float64
}

func (m *measurement) run(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(uint64(m.row.Threads), uint64(m.row.Freq)))
	for range m.plan.Pairs {
		var without, with float64
		var err error
		if rng.IntN(2) == 0 {
			without, err = m.bare(ctx)
			if err == nil {
				with, err = m.sampled(ctx)
			}
		} else {
			with, err = m.sampled(ctx)
			if err == nil {
				without, err = m.bare(ctx)
			}
		}
		if err != nil {
			return err
		}
		if without > 0 {
			m.ratios = append(m.ratios, with/without)
		}
	}
	m.finish()
	return nil
}

// bare measures a window without sampling.
func (m *measurement) bare(ctx context.Context) (float64, error) {
	return m.window(ctx)
}

// window gives the work done in a second.
func (m *measurement) window(ctx context.Context) (float64, error) {
	start := time.Now()
	w0, err := m.subject.work()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(m.plan.Window):
	}
	w1, err := m.subject.work()
	if err != nil {
		return 0, err
	}
	return float64(w1-w0) / time.Since(start).Seconds(), nil
}

// sampled measures a window while the workload is sampled.
func (m *measurement) sampled(ctx context.Context) (float64, error) {
	images := target.NewImageCache(0)
	defer images.Close()
	t, err := images.Open(m.subject.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	b := profile.NewBuilder(profile.Meta{Start: time.Now(), Period: time.Second, Aggregate: true})
	s := sampler.New(sampler.Options{Freq: m.row.Freq, Census: m.plan.Census}, b, images, []*target.Process{t})
	defer s.Close()
	run, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan sampler.Stats, 1)
	fail := make(chan error, 1)
	go func() {
		st, err := s.Run(run)
		fail <- err
		done <- st
	}()
	for s.FirstTick() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(settle)
	calls, cpu, start := procmem.Calls(), selfCPU(), time.Now()
	before := s.Progress()
	got, err := m.window(ctx)
	after := s.Progress()
	m.sums.calls += procmem.Calls() - calls
	m.sums.cpu += selfCPU() - cpu
	m.sums.seconds += time.Since(start).Seconds()
	m.sums.ticks += after.Ticks - before.Ticks
	m.sums.frozen += after.Frozen - before.Frozen
	stop()
	if e := <-fail; e != nil && err == nil {
		err = e
	}
	m.add(<-done)
	return got, err
}

// add takes over what a whole run counted.
func (m *measurement) add(st sampler.Stats) {
	m.res.Machine.Scheduling = st.Scheduling
	m.sums.samples += st.Samples
	m.sums.complete += st.Complete
	if st.Frozen > 0 {
		m.sums.freezeP50 = append(m.sums.freezeP50, float64(st.FreezeP50)/1e3)
		m.sums.freezeP99 = max(m.sums.freezeP99, float64(st.FreezeP99)/1e3)
		m.sums.freezeMax = max(m.sums.freezeMax, float64(st.FreezeMax)/1e3)
	}
	m.row.SamplesPerS += float64(st.Samples) / st.Seconds / float64(m.plan.Pairs)
}

// finish fills in the row.
func (m *measurement) finish() {
	r, s := m.row, &m.sums
	r.Pairs = len(m.ratios)
	if r.Pairs > 0 {
		r.Low, r.High = interval(m.ratios)
		r.Ratio = median(m.ratios)
	}
	if s.seconds > 0 {
		r.StopsPerS = float64(s.frozen) / s.seconds
		r.CPUSelf = s.cpu / s.seconds
	}
	if s.ticks > 0 {
		r.SyscallsPerTick = float64(s.calls) / float64(s.ticks)
	}
	if s.samples > 0 {
		r.Complete = float64(s.complete) / float64(s.samples)
	}
	if len(s.freezeP50) > 0 {
		r.Freeze = &Freeze{P50: median(s.freezeP50), P99: s.freezeP99, Max: s.freezeMax}
	}
}

// selfCPU gives the processor time of this process in seconds.
func selfCPU() float64 {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
}

// machine describes this one.
func machine(version string) Machine {
	m := Machine{Processors: runtime.NumCPU(), Prywalk: version}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	m.Model = cpuModel()
	return m
}
