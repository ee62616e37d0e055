// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

type toyRunning struct {
	attached, ended, ran map[int]int // by thread
	ticks, drained       int
}

func newToyRunning() *toyRunning {
	return &toyRunning{attached: map[int]int{}, ended: map[int]int{}, ran: map[int]int{}}
}

func (e *toyRunning) Start(*target.SharedState, target.EngineHost, *target.SamplingOptions) target.Engine {
	return e
}
func (e *toyRunning) Period() time.Duration { return 0 }
func (e *toyRunning) FromStart() bool       { return false }
func (e *toyRunning) Close()                {}

func (e *toyRunning) Track(*target.Process) target.ProcessPart { return toyProcess{e: e} }
func (e *toyRunning) SetRate(ptrace.Moment, float64)           {}
func (e *toyRunning) BeginTick(ptrace.Moment, bool)            {}
func (e *toyRunning) DrainAll(ptrace.Moment)                   {}
func (e *toyRunning) DrainIfDue() (buffers bool)               { e.drained++; return true }
func (e *toyRunning) EndTick()                                 { e.ticks++ }
func (e *toyRunning) Stats(s *runstats.Observed)               { s.Engine = "toy" }

type toyProcess struct{ e *toyRunning }

func (toyProcess) Observes() bool { return true }
func (toyProcess) Ended()         {}
func (p toyProcess) TrackThread(th *target.Thread) target.ThreadPart {
	th.ExemptFromStops(1)
	p.e.attached[th.Observed.ID.TID]++
	return toyThread{p.e, th.Observed.ID.TID}
}

type toyThread struct {
	e   *toyRunning
	tid int
}

func (toyThread) BeforeObservation()                  {}
func (toyThread) ClocksRead(sample.Reading)           {}
func (th toyThread) FoundRunning()                    { th.e.ran[th.tid]++ }
func (toyThread) AfterObservation(*observe.RawSample) {}
func (th toyThread) Ended(bool)                       { th.e.ended[th.tid]++ }

func TestAnEngineForRunningThreadsTakesThePlaceOfStops(t *testing.T) {
	pid, _ := testtargets.Threads(t, "burners", "2")
	p := opened(t, pid)
	toy := newToyRunning()
	var stats runstats.Stats
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		c := newTracer(target.SamplingOptions{Freq: 99, Engine: toy})
		c.shared.Observer = observe.New(ctl, c.shared.Pool, observe.ModeAuto)
		defer c.shared.Observer.Close()
		c.tracked.trackProcess(p)
		testtargets.Eventually(t, "both threads are found running", func() bool {
			now := ptrace.Now()
			c.tick(now, now.Add(5e6))
			ran := len(toy.ran)
			if toy.ran[pid] > 0 { // the main thread, if it was found before it slept
				ran--
			}
			return ran == 2 && toy.ticks >= 2
		})
		c.observeLast(ptrace.Now())
		c.Stats(&stats)
	})
	if stats.Stops != 0 || stats.Engine != "toy" || toy.ticks < 2 {
		t.Errorf("%d stops, engine %q, %d ticks", stats.Stops, stats.Engine, toy.ticks)
	}
	for tid, n := range toy.attached {
		if n != 1 || toy.ended[tid] != 1 {
			t.Errorf("thread %d was attached %d times and ended %d times", tid, n, toy.ended[tid])
		}
	}
}
