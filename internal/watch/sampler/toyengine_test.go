// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"prywalk/frames"
	"prywalk/internal/account/runstats"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// toyEngine reads stacks of initially existing sleeping threads from /proc.
type toyEngine struct {
	with    *target.Common
	arrive  <-chan *target.Process
	period  time.Duration
	tasks   sample.ThreadID
	procs   sample.ProcessID
	threads []*toyThread
	ticks   atomic.Int64
	passive int64
}

type toyThread struct {
	shared *target.Thread
	files  *procmem.ThreadFiles
}

func (e *toyEngine) Run(ctx context.Context, _ func()) {
	defer e.with.Queue.Close()
	tick := time.NewTicker(e.period)
	defer tick.Stop()
	for ctx.Err() == nil {
		if batch := e.with.Queue.Get(); e.with.Queue.HasRoom() {
			e.with.Queue.Send(e.observe(e.admit(batch)))
		} else {
			e.with.Queue.Put(batch)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	e.with.Queue.Send(e.end(e.with.Queue.Get()))
}

func (e *toyEngine) Stats(s *runstats.Stats) {
	s.Engine, s.Ticks, s.Attempted, s.PassiveReads = "toy", e.ticks.Load(), e.passive, e.passive
}

func (e *toyEngine) admit(out target.Batch) target.Batch {
	for {
		select {
		case p := <-e.arrive:
			e.procs++
			p.ID, p.Since = e.procs, procmem.Now()
			tasks := p.TaskDir
			tids, _ := tasks.List(nil)
			tasks.Close()
			for _, tid := range tids {
				e.tasks++
				lt := observe.NewThread(p.Target.PID, tid, nil)
				e.threads = append(e.threads, &toyThread{
					shared: &target.Thread{
						ID: e.tasks, Proc: p, TID: tid, Observed: lt, FirstListedAt: procmem.Now(),
					},
					files: procmem.OpenThread(p.Target.PID, tid, nil),
				})
			}
			out = append(out, p.Started())
		default:
			return out
		}
	}
}

func (e *toyEngine) observe(out target.Batch) target.Batch {
	e.ticks.Add(1)
	for _, th := range e.threads {
		raw := e.with.Pool.Get()
		if !e.readPassively(th, raw) {
			e.with.Pool.Put(raw)
			continue
		}
		e.passive++
		out = append(out, target.Event{Thread: th.shared, RawSample: raw, StandsFor: int64(e.period)})
	}
	return out
}

func (e *toyEngine) readPassively(th *toyThread, s *observe.RawSample) bool {
	before, err := th.files.SchedStat()
	if err != nil {
		return false
	}
	call, err := th.files.Syscall()
	if err != nil || call.Running {
		return false
	}
	stack := make([]byte, 16<<10)
	n, _ := procmem.ReadVM(th.shared.TID, call.SP, stack)
	after, err := th.files.SchedStat()
	if err != nil || after.Runs != before.Runs {
		return false
	}
	s.At, s.How, s.State, s.Sched, s.Call = procmem.Now(), observe.ByPassiveRead, sample.Sleeping, after, call
	s.Regs = frames.Regs{Arch: th.shared.Proc.Target.Arch, PC: call.PC}
	s.Regs.Set(s.Regs.Arch.SP(), call.SP)
	s.Mem = frames.Snapshot{Stack: frames.Region{Addr: call.SP, Bytes: stack[:n]}}
	return true
}

func (e *toyEngine) end(out target.Batch) target.Batch {
	now := procmem.Now()
	seen := map[*target.Process]bool{}
	for _, th := range e.threads {
		end := &th.shared.End
		end.Alive = true
		if st, err := th.files.SchedStat(); err == nil {
			end.AtEnd = procmem.ReadingAt(st, now)
		}
		out = append(out, th.shared.HasEnded(sample.NotStopped{}))
		th.files.Close()
	}
	for _, th := range e.threads {
		if p := th.shared.Proc; !seen[p] {
			seen[p] = true
			out = append(out, p.HasEnded(now))
		}
	}
	return out
}

func TestAnotherEngineRecords(t *testing.T) {
	started := start(t, "sleepers", "3")
	allAsleep(t, started.pid)
	var running atomic.Pointer[toyEngine]
	toy := func(with *target.Common, arrive <-chan *target.Process) target.Producer {
		running.Store(&toyEngine{with: with, arrive: arrive, period: 10 * time.Millisecond})
		return running.Load()
	}
	begun := time.Now()
	enough := func(*Sampler) bool { e := running.Load(); return e != nil && e.ticks.Load() > 50 }
	r := run(t, Options{NewProducer: toy}, enough, nil, started.pid)
	asleep := func(s *pprof.Sample) bool { return in("sleep_here")(s) && label(s, "state") == "sleeping" }
	ticks, wall := r.sumOf(0, asleep), r.sumOf(1, asleep)
	if r.Engine != "toy" || r.PassiveReads == 0 || ticks < 3 || r.Complete < r.Samples*99/100 {
		t.Errorf("engine %s: %d ticks of sleepers, %d of %d samples complete", r.Engine, ticks, r.Complete, r.Samples)
	}
	if most := 3 * time.Since(begun).Nanoseconds(); wall < int64(time.Second) || wall > most {
		t.Errorf("three sleepers slept for %v in less than %v", time.Duration(wall), time.Duration(most))
	}
}
