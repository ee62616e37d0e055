// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"testing"

	"prywalk/internal/base/sample"
)

func TestThreadWithStopsAtTheEndOfCallsMakesManyCalls(t *testing.T) {
	var e StopClassifier
	for now := range int64(100) {
		e.noteStop(now, false)
	}
	if e.many || e.carriesCPU(100) {
		t.Fatal("a thread without stops in calls makes many calls, or skids")
	}
	for now := int64(100); now < 110; now++ {
		e.noteStop(now, true)
	}
	if !e.many || !e.carriesCPU(110) || e.carriesCPU(110+maxCarryTime) {
		t.Fatalf("%+v: want many calls, and skids from 110 for %d ns", e, int64(maxCarryTime))
	}
	for now := int64(110); now < 1000; now++ {
		e.noteStop(now, now%10 == 0)
	}
	if !e.many {
		t.Fatalf("%+v: want many calls", e)
	}
	e.exactAt = 900
	if !e.carriesCPU(900+maxCarryTime-1) || e.carriesCPU(900+maxCarryTime) {
		t.Error("inexact samples are not used until exactly maxCarryTime after the last exact one")
	}
	for now := int64(1000); now < 1300; now++ {
		e.noteStop(now, false)
	}
	if e.many {
		t.Errorf("%+v: want no longer many calls", e)
	}
}

func TestFirstStopAtTheEndOfACallIsNotExact(t *testing.T) {
	var e StopClassifier
	if e.noteStop(7, true); !e.many || !e.carriesCPU(7) {
		t.Errorf("%+v: want many calls, and a skidded sample", e)
	}
	var one StopClassifier // in a call by chance: corrected within a third of a second
	one.noteStop(0, true)
	for now := int64(1); now < 35; now++ {
		one.noteStop(now, false)
	}
	if one.many {
		t.Errorf("%+v: want no longer many calls", one)
	}
}

// Without exact stops, the only exact samples are those of sleepers: all CPU time of a server would be in epoll_wait.
func TestCPUTimeAwaitsNoExactStopWhereThereIsNone(t *testing.T) {
	for _, inexact := range []bool{false, true} {
		var th StopClassifier
		for i := range int64(decidedAfter) {
			th.BeginSample(i, uint64(i), inexact)
			th.AttributeStop(i, true, true)
		}
		onCPU, basis := th.AttributeStop(decidedAfter, true, true)
		want := sample.Skids
		if inexact {
			want = sample.FewCalls
		}
		if onCPU != inexact || basis != want {
			t.Errorf("no exact stops %v: CPU time goes to the stop %v, basis %v; want basis %v", inexact, onCPU, basis, want)
		}
	}
}
