// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"
	"testing"

	"prywalk/internal/handover"
	"prywalk/internal/managed"
)

func TestLooksAreHandedOverTogetherAndChangesAtOnce(t *testing.T) {
	known := &handover.Thread{Met: 1}
	const now = 10e9
	look := handover.Event{Kind: handover.Looked, Thread: known}
	ofNew := handover.Event{Kind: handover.Looked, Thread: &handover.Thread{Met: now - 5e6}}
	named := &handover.Thread{Met: now - 5e6}
	named.Named.Store(true)
	ofNamed := handover.Event{Kind: handover.Looked, Thread: named}
	listed := &handover.Thread{Met: now - 5e6, Proc: &handover.Process{}}
	listed.Proc.Plans.Store(&managed.Plan{})
	ofListed := handover.Event{Kind: handover.Looked, Thread: listed}
	surprising := handover.Event{Kind: handover.Looked, Thread: known, Soon: true}
	clocks := handover.Event{Kind: handover.Unchanged, Thread: known}
	for _, c := range []struct {
		what   string
		passed int64
		events handover.Batch
		due    bool
	}{
		{"one look just after the last", now - 10e6, handover.Batch{look}, false},
		{"one look that waits for long", now - handOverAfter, handover.Batch{look}, true},
		{"many looks", now - 10e6, make(handover.Batch, handOverShots), true},
		{"clocks alone", now - 10e6, slices.Repeat(handover.Batch{clocks}, 2*handOverShots), false},
		{"a new thread", now - 10e6, handover.Batch{look, ofNew}, true},
		{"a new thread whose name is known", now - 10e6, handover.Batch{look, ofNamed}, false},
		{"a stack that was not as expected", now - 10e6, handover.Batch{look, surprising}, true},
		{"a new thread of a run-time system's", now - 10e6, handover.Batch{look, ofListed}, false},
		{"one that waits for long", now - handOverListed, handover.Batch{look, ofListed}, true},
		{"the end of one", now - 10e6, handover.Batch{{Kind: handover.ThreadEnded, Thread: listed}}, false},
		{"a thread that ended", now - 10e6, handover.Batch{{Kind: handover.ThreadEnded, Thread: known}}, true},
		{"a new process", now - 10e6, handover.Batch{{Kind: handover.ProcessBegan}}, true},
	} {
		for i := range c.events {
			if c.events[i].Thread == nil && c.events[i].Kind == handover.Looked {
				c.events[i].Thread = known
			}
		}
		o := outbox{events: c.events, last: c.passed}
		if got := o.due(now); got != c.due {
			t.Errorf("%s: due %v", c.what, got)
		}
	}
}
