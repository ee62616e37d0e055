// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"os"
	"testing"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
)

func TestWakeUpPreemptsOneThreadOnly(t *testing.T) {
	const woken = 1_010_000_000
	run := Run{DetachedAt: woken - 1e6, CPU: 1e6}
	var d PreemptionDetector
	_, before := d.PreemptedOn()
	if before || !d.byClock(run, woken) || d.byClock(run, woken) || !d.hasPreempted {
		t.Error("a wake-up has preempted no thread, or two")
	}
	if d.Preempted(nil, woken) {
		t.Error("a second thread is searched for after one was found")
	}
	if !d.byClock(run, woken+1000) {
		t.Error("the next wake-up has preempted no thread")
	}
}

func TestPreemptionIsKnownUntilTheEndOfTheTick(t *testing.T) {
	const woken, cpu = 1_010_000_000, 3
	d := PreemptionDetector{cpu: cpu, cpuWake: woken}
	d.setKnown(woken)
	d.NoteWake(woken + 1000) // a second wake-up in the tick, on another CPU
	d.cpu, d.cpuWake = cpu+1, woken+1000
	if on, ok := d.PreemptedOn(); !ok || on != cpu {
		t.Errorf("preempted %v, on CPU %d; want on CPU %d", ok, on, cpu)
	}
	d.ForgetPreempted()
	if _, ok := d.PreemptedOn(); ok {
		t.Error("the next tick has preempted a thread")
	}
}

func TestKnownPreemptionsNeedNoReads(t *testing.T) {
	files := procmem.OpenThread(os.Getpid(), os.Getpid(), nil)
	for _, known := range []bool{true, false} {
		wake := Wake{At: procmem.Now(), ByTimer: true}
		var d PreemptionDetector
		d.CPU(wake.At)
		if known {
			d.setKnown(wake.At)
		}
		var th StopClassifier
		before := procmem.Calls()
		if d.Decide(&th, files, Run{}, wake) && known {
			t.Error("one wake-up preempts a second thread")
		}
		if calls := procmem.Calls() - before; (calls == 0) != known || !th.Decided() {
			t.Errorf("preemption known %v: %d system calls", known, calls)
		}
		d.Close()
	}
}

func TestThreadQueuedOnTheTracersCPUWaitsAtEachQuery(t *testing.T) {
	files := procmem.OpenThread(os.Getpid(), os.Getpid(), nil)
	defer files.Close()
	for range 100 {
		var st procmem.Stat
		if err := files.Stat(&st); err != nil {
			t.Fatal(err)
		}
		wake := Wake{At: procmem.Now(), ByTimer: true}
		d := PreemptionDetector{cpu: st.Processor, cpuWake: wake.At, arrivalWake: wake.At}
		defer d.Close()
		var th StopClassifier
		if !d.Decide(&th, files, Run{}, wake) {
			continue
		}
		if _, preempted := th.Preempted(); preempted {
			t.Fatal("preempted, though the tracer's arrival is unknown")
		}
		if !d.Decide(&th, files, Run{}, wake) {
			t.Error("the second query says that the thread does not wait")
		}
		th.NoteRunOn()
		if d.Decide(&th, files, Run{}, wake) {
			t.Error("a thread that has run since waits")
		}
		return
	}
	t.Fatal("the thread moves to another CPU at each try")
}

func TestPreemptionIsKnownUntilTheThreadRuns(t *testing.T) {
	const woken = 1_010_000_000
	for _, c := range []struct {
		woken int64
		runs  uint64
		want  bool
	}{{woken, 7, true}, {woken, 8, false}, {woken + 1000, 7, false}} {
		th := StopClassifier{foundAt: woken, foundRuns: 7, cpu: 3}
		th.BeginSample(c.woken, c.runs, false)
		if cpu, ok := th.Preempted(); ok != c.want || ok && cpu != 3 || th.Decided() != c.want {
			t.Errorf("woken %d, %d runs: preempted %v on CPU %d, decided %v; want %v on 3", c.woken, c.runs, ok, cpu,
				th.Decided(),
				c.want)
		}
		th.NoteRunOn()
		if _, ok := th.Preempted(); ok {
			t.Error("a thread that ran before the interrupt is still preempted")
		}
		th.BeginSample(woken, 7, false)
		if _, ok := th.Preempted(); ok || th.Decided() {
			t.Error("the preemption is still known at the next sample")
		}
	}
}

func TestThreadPreemptedFromAnotherCPUSkids(t *testing.T) {
	const at = 1_010_000_000
	for _, c := range []struct {
		calls bool // at each stop
		late  bool
		onCPU bool
		basis sample.Basis
	}{
		{true, false, true, sample.Exact}, {true, true, false, sample.Skids}, {false, false, true, sample.Exact},
		{false, true, true, sample.FewCalls},
	} {
		var th StopClassifier
		for range decidedAfter {
			th.AttributeStop(at-1, true, c.calls)
		}
		th.preempted, th.decided, th.fromOtherCPU = true, true, c.late
		if onCPU, basis := th.AttributeStop(at, false, c.calls); onCPU != c.onCPU || basis != c.basis {
			t.Errorf("%+v: on CPU %v, basis %v", c, onCPU, basis)
		}
		if tells := th.ShowsPlaceAsleep(Wake{At: at, ByTimer: !c.late}, at); tells != (!c.calls || !c.late) {
			t.Errorf("%+v: shows its place while asleep %v, want %v", c, tells, !tells)
		}
	}
}

// Before a late wake-up the thread that left the CPU ran until it slept: where it sleeps is not where it was at the
// tick.
func TestAThreadThatSleepsShowsItsPlaceOnlyIfTheTracerDidNotWait(t *testing.T) {
	for _, c := range []struct {
		wake       Wake
		many, want bool
	}{
		{Wake{At: 1, ByTimer: true}, true, true},
		{Wake{At: 1, ByTimer: true}, false, true},
		{Wake{At: 1}, true, false},
		{Wake{At: 1}, false, true},
		{Wake{At: 1, ByTimer: true, Late: true}, true, false},
		{Wake{At: 1, ByTimer: true, Late: true}, false, false},
	} {
		th := StopClassifier{many: c.many}
		if got := th.ShowsPlaceAsleep(c.wake, 1); got != c.want {
			t.Errorf("%+v, many calls %v: shows its place %v, want %v", c.wake, c.many, got, c.want)
		}
	}
}
