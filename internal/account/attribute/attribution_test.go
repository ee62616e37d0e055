// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"testing"

	"prywalk/internal/base/sample"
)

func TestTimeIsPassedToOpenAccountsOnly(t *testing.T) {
	to := &processAccount{node: &cutimeNode{}}
	p := &processAccount{node: &cutimeNode{}, passedTo: to}
	a := &Attribution{byNode: map[*cutimeNode]*processAccount{to.node: to, p.node: p}}
	if a.recipient(p) != to {
		t.Error("time of a process is not passed to the open account of its parent")
	}
	delete(a.byNode, to.node)
	if a.recipient(p) != nil {
		t.Error("time of a process is passed to a closed account, which loses it")
	}
}

func TestTimeOfObservationBeginsWithTheFirstSample(t *testing.T) {
	var got observedTime
	a := New(Options{}, nil, &got)
	a.Apply(&ThreadStarted{Process: 1, Thread: 1, Now: sample.Reading{Wall: 1e9}})
	for _, wall := range []int64{4e9, 5e9} {
		a.Apply(&Sampled{Process: 1, Thread: 1, Sample: sleeperAt(wall, 1e6, sample.Unchanged{})})
	}
	a.Apply(&ThreadEnded{Process: 1, Thread: 1, End: End{Alive: true}})
	if got != (observedTime{2, 1e9}) {
		t.Errorf("%d samples in %d ns, want 2 in 1e9", got.samples, got.ns)
	}
}

type observedTime struct{ samples, ns int64 }

func (*observedTime) Add(*Interval)                               {}
func (o *observedTime) ThreadDone(_ sample.ThreadID, n, ns int64) { o.samples, o.ns = n, ns }
func (*observedTime) ProcessDone(sample.ProcessID)                {}

func TestLateEventsOfChildrenOpenNoAccount(t *testing.T) {
	a := New(Options{Children: true}, &parent{}, newSums())
	a.Apply(&ProcessStarted{Process: 1, PID: 7, FromStart: true})
	a.Apply(&ProcessEnded{Process: 1, At: 1e9})
	a.Apply(&Tick{At: 1e9 + 2*closeAfter})
	if len(a.procs) != 0 {
		t.Fatal("the account is not closed")
	}
	a.Apply(&UnassignedSample{Process: 1, StandsFor: 1e6, At: 2e9, OfChild: true})
	a.Apply(&UnassignedSample{Process: 1, StandsFor: 1e6, At: 2e9})
	if len(a.procs) != 0 {
		t.Error("an ended process has an account again")
	}
}
