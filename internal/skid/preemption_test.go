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
