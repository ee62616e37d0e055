// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"fmt"
	"strings"
	"testing"

	"prywalk/internal/base/sample"
)

func TestClocksOfTheThreadThatCallsExecGoOnUnderTheFirstOnesNumber(t *testing.T) {
	at := func(ms, cpu int64) sample.Reading { return sample.Reading{Wall: ms * 1e6, CPU: cpu * 1e6} }
	sampled := func(id sample.ThreadID, ms, cpu int64) *Sampled {
		return &Sampled{Process: 1, Thread: id, Sample: Sample{
			At: at(ms, cpu), OnCPU: true, StandsFor: 10e6, Place: Place{Stack: sample.StackID(id), State: sample.Running},
		}}
	}
	got := newSums()
	a := New(Scope{}, &parent{}, got)
	for _, e := range []Event{
		&ProcessStarted{Process: 1, PID: 100},
		&ThreadStarted{Process: 1, Thread: 1, Now: at(0, 0)},
		&ThreadStarted{Process: 1, Thread: 2, Now: at(0, 0)},
		sampled(1, 30, 10),
		sampled(2, 30, 30),
		&ThreadEnded{Process: 1, Thread: 1},
		&Execed{Process: 1, Thread: 3, Caller: 2},
		sampled(3, 50, 45),
		&ThreadEnded{Process: 1, Thread: 3},
		&ProcessEnded{Process: 1, At: 50e6, ProcessEnd: ProcessEnd{Charged: 55e6, EndedThreads: 55e6}},
	} {
		a.Apply(e)
	}
	a.Close(50e6)
	if got.cpu != 55e6 || a.Totals().Target != 55e6 || a.Totals().Estimated != 0 || len(got.bad) > 0 {
		t.Errorf("%d ns attributed, totals %+v, want 55 ms, none of it estimated; impossible: %q\n%v", got.cpu, a.Totals(),
			got.bad, got)
	}
	for thread, want := range map[int]int64{1: 10e6, 2: 30e6, 3: 15e6} {
		prefix, cpu := fmt.Sprintf("process 1 thread %d stack %d ", thread, thread), int64(0)
		for k, times := range got.of {
			if strings.HasPrefix(k, prefix) {
				cpu += times[0]
			}
		}
		if cpu != want {
			t.Errorf("thread %d has %d ns in its own stack, want %d:\n%v", thread, cpu, want, got)
		}
	}
}
