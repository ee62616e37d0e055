// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"testing"

	"prywalk/internal/account/attribute"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

func TestObservationsAreHandedOverTogetherAndChangesAtOnce(t *testing.T) {
	known, raw := &Thread{FirstListedAt: 1}, &observe.RawSample{}
	const now ptrace.Moment = 10e9
	smp := Event{Thread: known, RawSample: raw}
	ofNew := Event{Thread: &Thread{FirstListedAt: now.Add(-5e6)}, RawSample: raw}
	named := &Thread{FirstListedAt: now.Add(-5e6)}
	named.NamedByRuntime.Store(true)
	ofNamed := Event{Thread: named, RawSample: raw}
	listed := &Thread{FirstListedAt: now.Add(-5e6), Proc: &Process{}}
	listed.Proc.Plans.Store(&[]*managed.Plan{{}})
	ofListed := Event{Thread: listed, RawSample: raw}
	surprising := Event{Thread: known, RawSample: raw, WalkAtOnce: true}
	clocks := Event{Thread: known}
	for _, c := range []struct {
		what   string
		passed ptrace.Moment
		events Batch
		due    bool
	}{
		{"one sample just after the last", now.Add(-10e6), Batch{smp}, false},
		{"one sample that waits for long", now.Add(-handOverAfter), Batch{smp}, true},
		{"many samples", now.Add(-10e6), slices.Repeat(Batch{smp}, handOverSamples), true},
		{"clocks alone", now.Add(-10e6), slices.Repeat(Batch{clocks}, 2*handOverSamples), false},
		{"a new thread", now.Add(-10e6), Batch{smp, ofNew}, true},
		{"a new thread whose name is known", now.Add(-10e6), Batch{smp, ofNamed}, false},
		{"a stack that was not as expected", now.Add(-10e6), Batch{smp, surprising}, true},
		{"a new thread of a run-time system's", now.Add(-10e6), Batch{smp, ofListed}, true},
		{"a thread that ended", now.Add(-10e6), Batch{{What: &attribute.ThreadEnded{}, Thread: known}}, true},
		{"a new process", now.Add(-10e6), Batch{{What: &attribute.ProcessStarted{}}}, true},
	} {
		o := Outbox{events: c.events, last: c.passed}
		if got := o.Due(now); got != c.due {
			t.Errorf("%s: due %v", c.what, got)
		}
	}
}
