package skid

import "testing"

func TestAWakeUpHasPreemptedOneThreadOnly(t *testing.T) {
	const woken = 1_010_000_000
	run := Run{LetGo: woken - 1e6, CPU: 1e6}
	var d Tracer
	if !d.byClock(run, woken) || d.byClock(run, woken) || !d.InTheWay() {
		t.Error("not the first, or a second one")
	}
	if d.Preempted(nil, woken) {
		t.Error("a second one was looked for")
	}
	if !d.byClock(run, woken+1000) {
		t.Error("not at the next wake-up")
	}
}

// TestWhoWasFoundPreemptedIsSoUntilHeRuns: of the wake-up that found him, once, and not when he has gone on.
func TestWhoWasFoundPreemptedIsSoUntilHeRuns(t *testing.T) {
	const woken = 1_010_000_000
	for _, c := range []struct {
		woken int64
		runs  uint64
		want  bool
	}{{woken, 7, true}, {woken, 8, false}, {woken + 1000, 7, false}} {
		th := Thread{foundAt: woken, foundRuns: 7}
		if th.BeginLook(c.woken, c.runs); th.Preempted() != c.want || th.Judged() != c.want {
			t.Errorf("woken %d, %d runs: %v, judged %v", c.woken, c.runs, th.Preempted(), th.Judged())
		}
		if th.RanOn(); th.Preempted() {
			t.Error("it ran on before the interrupt")
		}
		if th.BeginLook(woken, 7); th.Preempted() || th.Judged() {
			t.Error("the next look knows it still")
		}
	}
}
