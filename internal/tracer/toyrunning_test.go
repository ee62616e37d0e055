// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"prywalk/internal/attribute"
	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// toyRunning is an [engine.Running] that observes that threads run, and no stacks.
type toyRunning struct {
	attached, ended, ran map[int]int // by thread
	ticks, drained       int
	complete             bool
}

func newToyRunning() *toyRunning {
	return &toyRunning{attached: map[int]int{}, ended: map[int]int{}, ran: map[int]int{}}
}

func (e *toyRunning) Start(*engine.Run, engine.Host, engine.Options) engine.Running { return e }
func (e *toyRunning) Period() int64                                                 { return 0 }
func (e *toyRunning) Whole() bool                                                   { return false }
func (e *toyRunning) Launched(int)                                                  {}
func (e *toyRunning) Close()                                                        {}

func (e *toyRunning) ProcessAttached(*engine.Process)                     {}
func (e *toyRunning) ProcessEnded(*engine.Process, *attribute.ProcessEnd) {}
func (e *toyRunning) ThreadAttached(_ *engine.Process, th *engine.Thread) {
	th.Observed.SetSampled(1) // not to be stopped
	e.attached[th.Observed.TID]++
}
func (e *toyRunning) ThreadEnded(th *engine.Thread, _ bool) { e.ended[th.Observed.TID]++ }

func (e *toyRunning) BeforeObservation(*engine.Thread)                {}
func (e *toyRunning) ClocksRead(*engine.Thread, sample.Reading, bool) {}
func (e *toyRunning) Runs(th *engine.Thread)                          { e.ran[th.Observed.TID]++ }
func (e *toyRunning) Observed(*engine.Thread, *observe.RawSample)     {}

func (e *toyRunning) Choose()                            {}
func (e *toyRunning) Observes(*engine.Process) bool      { return true }
func (e *toyRunning) Complete() bool                     { return e.complete }
func (e *toyRunning) ShowsChildren() bool                { return false }
func (e *toyRunning) CountsChildren() bool               { return false }
func (e *toyRunning) TakeAll(int64)                      {}
func (e *toyRunning) DrainIfDue()                        { e.drained++ }
func (e *toyRunning) AwaitDraining(done <-chan struct{}) { e.drained++; <-done }
func (e *toyRunning) SetRate(int64, float64)             {}
func (e *toyRunning) ReportChildren(int64)               {}
func (e *toyRunning) EndTick()                           { e.ticks++ }
func (e *toyRunning) Hold()                              {}
func (e *toyRunning) Resume(int64)                       {}
func (e *toyRunning) BeforeLast(int64)                   {}
func (e *toyRunning) EndChildren()                       {}
func (e *toyRunning) End()                               {}
func (e *toyRunning) Stats(s *runstats.Observed)         { s.Engine = "toy" }

func TestAnEngineForRunningThreadsTakesThePlaceOfStops(t *testing.T) {
	pid, _ := testtargets.Threads(t, "burners", "2")
	p := opened(t, pid)
	toy := newToyRunning()
	var stats runstats.Stats
	observe.OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		c := newTracer(Options{Freq: 99, Running: toy})
		c.Observer = observe.New(ctl, c.Pool, observe.ModeAuto)
		defer c.Observer.Close()
		c.tracked.attachProcess(p)
		for len(toy.ran) < 2 {
			now := procmem.Now()
			c.tick(now, now+5e6)
		}
		c.last(procmem.Now())
		c.Stats(&stats)
	})
	if stats.Frozen != 0 || stats.Engine != "toy" || toy.ticks < 2 {
		t.Errorf("%d stops, engine %q, %d ticks", stats.Frozen, stats.Engine, toy.ticks)
	}
	for tid, n := range toy.attached {
		if n != 1 || toy.ended[tid] != 1 {
			t.Errorf("thread %d was attached %d times and ended %d times", tid, n, toy.ended[tid])
		}
	}
}
