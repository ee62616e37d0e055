// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"os"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func TestThreadWithStopsAtTheEndOfCallsMakesManyCalls(t *testing.T) {
	var k skidState
	stop := func(at ptrace.Moment, inSyscall bool) bool {
		onCPU, skids := k.attributeStop(at, true, inSyscall)
		if onCPU == skids {
			t.Errorf("at %d: on a CPU %v, skids %v", at, onCPU, skids)
		}
		return skids
	}
	for now := range ptrace.Moment(100) {
		if stop(now, false) || k.many {
			t.Fatal("a thread without stops in calls makes many calls, or skids")
		}
	}
	for now := ptrace.Moment(100); now < 110; now++ {
		stop(now, true)
	}
	if !k.many || !stop(110, true) || stop(ptrace.Moment(maxCarryTime).Add(110), true) {
		t.Fatalf("%+v: want many calls, and skids for %v", k, maxCarryTime)
	}
	for now := ptrace.Moment(110); now < 1000; now++ {
		stop(now, now%10 == 0)
	}
	if !k.many {
		t.Fatalf("%+v: want many calls", k)
	}
	for now := ptrace.Moment(1000); now < 1300; now++ {
		stop(now, false)
	}
	if k.many {
		t.Errorf("%+v: want no longer many calls", k)
	}
}

func TestFirstStopAtTheEndOfACallSkids(t *testing.T) {
	var k skidState
	if onCPU, skids := k.attributeStop(7, true, true); onCPU || !skids || !k.many {
		t.Errorf("%+v: on a CPU %v, skids %v; want many calls, and a skid", k, onCPU, skids)
	}
	var one skidState // in a call by chance: corrected within a third of a second
	one.attributeStop(0, true, true)
	for now := ptrace.Moment(1); now < 35; now++ {
		one.attributeStop(now, true, false)
	}
	if one.many {
		t.Errorf("%+v: want no longer many calls", one)
	}
}

// Without exact stops all CPU time of a server would await exact samples.
func TestCPUTimeAwaitsNoExactStopWhereThereIsNone(t *testing.T) {
	for _, inexact := range []bool{false, true} {
		var k skidState
		k.beginSample(inexact)
		if onCPU, skids := k.attributeStop(8, true, true); onCPU != inexact || skids == inexact {
			t.Errorf("no exact stops %v: CPU time goes to the stop %v, it skids %v", inexact, onCPU, skids)
		}
	}
}

func TestQueuedThreadCountsAsOnACPUOnlyIfTheTracerPreemptedIt(t *testing.T) {
	for _, c := range []struct{ preempted, otherCPU, many, onCPU, skids bool }{
		{false, false, false, false, false},
		{true, false, false, true, false},
		{true, false, true, true, false},
		{true, true, false, true, false},
		{true, true, true, false, true}, // it ran on
	} {
		k := skidState{preempted: c.preempted, fromOtherCPU: c.otherCPU, many: c.many, stops: recentStops, exactAt: 1}
		if c.many {
			k.share = 1
		}
		if onCPU, skids := k.attributeStop(2, false, c.many); onCPU != c.onCPU || skids != c.skids {
			t.Errorf("%+v: on a CPU %v, skids %v", c, onCPU, skids)
		}
		if !k.decideAtOnce() {
			t.Errorf("%+v: a thread that was queued is not queried before its next interrupt", c)
		}
	}
}

func withPreemption(t *testing.T, f func(*Preemption)) {
	t.Helper()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		defer ctl.Close()
		p := &Preemption{ctl: ctl}
		defer p.close()
		f(p)
	})
}

func TestPreemptionIsKnownUntilTheEndOfTheTick(t *testing.T) {
	withPreemption(t, func(p *Preemption) {
		const woken, cpu = ptrace.Moment(1_010_000_000), 3
		p.cpu, p.cpuWake = cpu, woken
		p.setFound(woken)
		p.Woken(woken.Add(1000)) // a second wake-up in the tick, on another CPU
		p.cpu, p.cpuWake = cpu+1, woken.Add(1000)
		if on, ok := p.PreemptedOn(); !ok || on != cpu {
			t.Errorf("preempted %v, on CPU %d; want on CPU %d", ok, on, cpu)
		}
		p.BeginTick()
		if _, ok := p.PreemptedOn(); ok {
			t.Error("the next tick has preempted a thread")
		}
	})
}

func TestOneWakeUpPreemptsOneThread(t *testing.T) {
	withPreemption(t, func(p *Preemption) {
		for _, found := range []bool{true, false} {
			th := NewThread(os.Getpid(), os.Getpid(), nil)
			p.Woken(ptrace.Now())
			woken := p.lastWake().at
			if p.cpuAt(woken); found {
				p.setFound(woken)
			}
			before := procmem.Calls()
			if p.decide(th) && found {
				t.Error("one wake-up preempts a second thread")
			}
			if calls := procmem.Calls() - before; (calls == 0) != found || !th.skid.decided {
				t.Errorf("found %v: %d system calls", found, calls)
			}
			th.Close()
		}
	})
}

func TestThreadQueuedOnTheTracersCPUWaitsAtEachQuery(t *testing.T) {
	withPreemption(t, func(p *Preemption) {
		th := NewThread(os.Getpid(), os.Getpid(), nil)
		defer th.Close()
		for range 100 {
			var st procmem.Stat
			if err := th.files.Stat(&st); err != nil {
				t.Fatal(err)
			}
			p.Woken(ptrace.Now())
			woken := p.lastWake().at
			p.cpu, p.cpuWake, p.arrivalWake, p.arrival = st.Processor, woken, woken, 0
			th.skid.beginSample(false)
			if !p.decide(th) {
				continue
			}
			if th.skid.preempted {
				t.Error("preempted, though the tracer's arrival is unknown")
			}
			if !p.decide(th) {
				t.Error("the second query says that the thread does not wait")
			}
			th.skid.markRunning()
			if p.decide(th) {
				t.Error("a thread that has run since waits")
			}
			return
		}
		t.Error("the thread moves to another CPU at each try")
	})
}
