// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"os"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// collected begins a collection on another goroutine.
func collected() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.GC()
	}()
	return done
}

func isOver(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// The wait ends by the kill of the child, which follows the collection's end, or by its own deadline.
func TestCollectionDoesNotWaitForTheEndOfAWait(t *testing.T) {
	for name, wait := range map[string]func(*late){
		"the end of a tick": func(l *late) { l.c.stops.finishUntil(l.until) },
		"a pinned wait": func(l *late) {
			ptrace.Pin()
			l.c.stops.finishUntil(l.until)
			ptrace.Unpin()
		},
		"pauses":               func(l *late) { l.breathe() },
		"a tick":               func(l *late) { l.c.tick(ptrace.Now(), l.until) },
		"a tick without stops": func(l *late) { l.c.withheldTick(ptrace.Now(), l.until) },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			onLateAfter(t, false, func() { runtime.GC(); close(done) }, func(l *late) {
				if wait(l); !isOver(done) {
					t.Error("the collection has waited for the end of the wait")
				}
			})
		})
	}
}

// A signal ends the sleep after the collection.
func TestCollectionDoesNotWaitForTheEndOfASleep(t *testing.T) {
	for name, sleep := range map[string]func(ctx context.Context, c *Tracer, ctl *ptrace.Controller, until ptrace.Moment){
		"between ticks": func(ctx context.Context, _ *Tracer, ctl *ptrace.Controller, until ptrace.Moment) {
			sleepUntil(ctx, ctl, until)
		},
		"of the controller": func(_ context.Context, _ *Tracer, ctl *ptrace.Controller, until ptrace.Moment) {
			ctl.Sleeper.SleepUntil(until)
		},
		"pinned naps": func(ctx context.Context, c *Tracer, _ *ptrace.Controller, until ptrace.Moment) {
			ptrace.Pin()
			for ctx.Err() == nil && ptrace.Now() < until {
				c.shared.Observer.Preemption().Nap(ptrace.Now().Add(1e6))
			}
			ptrace.Unpin()
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer selfruntime.DisableAutoGC(false)()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			procmem.OnOSThread(func() {
				ctl := ptrace.NewController(ptrace.Options{NoGC: true})
				defer ctl.Close()
				c := newTracer(target.SamplingOptions{Freq: 99})
				c.shared.Observer = observe.New(ctl, c.shared.Pool, observe.ModeAuto)
				defer c.shared.Observer.Close()
				done, tid := make(chan struct{}), unix.Gettid()
				go func() {
					for stateOf(tid) != "S" {
						runtime.Gosched()
					}
					runtime.GC()
					close(done)
					cancel()
					_ = unix.Tgkill(os.Getpid(), tid, alarmSignal)
				}()
				if sleep(ctx, c, ctl, ptrace.Now().Add(attendWithin)); !isOver(done) {
					t.Error("the collection has waited for the end of the sleep")
				}
				bounded.Receive(t, "the collection ends", done)
			})
		})
	}
}

// The Go runtime's handler ignores it; package ptrace awaits it.
const alarmSignal = syscall.Signal(63)

func TestCollectionThatBeginsAtAnyPointOfATickEnds(t *testing.T) {
	for _, point := range []string{"SetRate", "BeginTick", "DrainAll", "DrainIfDue", "EndTick"} {
		t.Run(point, func(t *testing.T) {
			defer selfruntime.DisableAutoGC(false)()
			e := &collectingEngine{toyRunning: newToyRunning(), at: point}
			pid, _ := testtargets.Threads(t, "burners", "1")
			p := opened(t, pid)
			procmem.OnOSThread(func() {
				ctl := ptrace.NewController(ptrace.Options{NoGC: true})
				defer ctl.Close()
				c := newTracer(target.SamplingOptions{Freq: 99, Engine: e})
				c.shared.Observer = observe.New(ctl, c.shared.Pool, observe.ModeAlwaysStop)
				defer c.shared.Observer.Close()
				c.tracked.trackProcess(p)
				defer func() { c.observeLast(ptrace.Now()) }()
				for end := ptrace.Now().Add(attendWithin); e.done == nil || !isOver(e.done); {
					now, next := c.scheduleTick()
					c.tick(now, next)
					c.afterTick(now)
					if now >= end {
						t.Errorf("begun: %v; not ended in %v of ticks", e.done != nil, attendWithin)
						return
					}
					sleepUntil(t.Context(), ctl, next)
					for len(c.shared.Queue.Batches()) > 0 {
						c.shared.Queue.Put(<-c.shared.Queue.Batches())
					}
				}
			})
		})
	}
}

// collectingEngine begins a collection at one of a tick's points.
type collectingEngine struct {
	*toyRunning
	at   string
	done <-chan struct{}
}

func (e *collectingEngine) Start(*target.SharedState, target.EngineHost, *target.SamplingOptions) target.Engine {
	return e
}

func (e *collectingEngine) reach(point string) {
	if point != e.at || e.done != nil {
		return
	}
	e.done = collected()
	procmem.SleepUntil(int64(ptrace.Now().Add(1e6))) // the other goroutine may run
}

func (e *collectingEngine) BeginTick(now ptrace.Moment, withheld bool) {
	e.reach("BeginTick")
	e.toyRunning.BeginTick(now, withheld)
}
func (e *collectingEngine) DrainAll(now ptrace.Moment) {
	e.reach("DrainAll")
	e.toyRunning.DrainAll(now)
}
func (e *collectingEngine) DrainIfDue() bool { e.reach("DrainIfDue"); return e.toyRunning.DrainIfDue() }
func (e *collectingEngine) EndTick()         { e.reach("EndTick"); e.toyRunning.EndTick() }
func (e *collectingEngine) SetRate(now ptrace.Moment, rate float64) {
	e.reach("SetRate")
	e.toyRunning.SetRate(now, rate)
}
