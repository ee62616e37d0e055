// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"

	"prywalk/ptrace"
)

func TestTheMostSevereFallbackReasonStays(t *testing.T) {
	var p Process
	for _, c := range []struct{ reported, want SampleLack }{
		{LacksOuterFrames, LacksOuterFrames}, {LacksStacks, LacksOuterFrames}, {LacksFrames, LacksFrames},
		{LacksSamples, LacksFrames},
	} {
		if p.RaiseLack(c.reported); p.SampleLack() != c.want {
			t.Errorf("reported %d: %d, want %d", c.reported, p.SampleLack(), c.want)
		}
	}
}

func TestSamplesAreWalkedAtOnceForASecondAfterTheLatestFreedFunction(t *testing.T) {
	const early, late ptrace.Moment = 5e9, 6e9
	const second = codeFreedFor
	var p Process
	if p.WalkAtOnce(early) {
		t.Error("before the first")
	}
	for _, at := range []ptrace.Moment{late, early} {
		p.CodeFreed(at)
		if !p.WalkAtOnce(late.Add(second).Add(-1)) || p.WalkAtOnce(late.Add(second)) {
			t.Error("not for a second after the latest")
		}
	}
}

func TestReasonsThatTakeStops(t *testing.T) {
	rows := []struct {
		lack           SampleLack
		chosen, forced bool // kernel samples by prywalk, by the user
	}{
		{LacksNothing, false, false}, {LacksStacks, true, false}, {LacksOuterFrames, true, false},
		{LacksSamples, true, true}, {LacksFrames, true, true},
	}
	var p Process
	for i, c := range rows {
		if got := c.lack.NeedsStops(true); got != c.chosen {
			t.Errorf("%d with a choice: %v", c.lack, got)
		}
		if got := c.lack.NeedsStops(false); got != c.forced {
			t.Errorf("%d without a choice: %v", c.lack, got)
		}
		if c.lack != LacksNothing && len(c.lack.Note(2)) < len("2 processes of") {
			t.Errorf("%d: %q", c.lack, c.lack.Note(2))
		}
		p.RaiseLack(c.lack)
		if p.RaiseLack(rows[max(i-1, 0)].lack); p.SampleLack() != c.lack {
			t.Errorf("%d is noted, not the more severe %d", p.SampleLack(), c.lack)
		}
	}
	if len(rows) != int(NumSampleLacks) {
		t.Errorf("%d rows for %d lacks", len(rows), NumSampleLacks)
	}
}

func TestBatchesAreUsedAgain(t *testing.T) {
	r := newBatchQueue()
	n := testing.AllocsPerRun(100, func() {
		b := append(r.Get(), Event{Thread: &Thread{}})
		r.Send(b)
		got := <-r.Batches() // it has been sent
		r.Put(got)
		if got[0].Thread != nil {
			t.Error("an event is kept")
		}
	})
	if n > 1 { // the thread
		t.Errorf("%v allocations for a batch", n)
	}
	for r.HasRoom() {
		r.Send(nil)
	}
	if len(r.Batches()) != queueSize {
		t.Errorf("%d batches fit", len(r.Batches()))
	}
}

func TestRequestIsOpenUntilItIsDone(t *testing.T) {
	var r Request
	r.Ask()
	if !r.Open() {
		t.Error("not open")
	}
	if r.Done(5, true); !r.Open() || r.Took() != 5 {
		t.Errorf("made anew: open %v, took %d", r.Open(), r.Took())
	}
	if r.Done(7, false); r.Open() || r.Took() != 7 {
		t.Errorf("done: open %v, took %d", r.Open(), r.Took())
	}
}
