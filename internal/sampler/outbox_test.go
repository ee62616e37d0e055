package sampler

import "testing"

func TestLooksAreHandedOverTogetherAndChangesAtOnce(t *testing.T) {
	known := &threadAccount{met: 1}
	const now = 10e9
	look := event{kind: looked, thread: known}
	for _, c := range []struct {
		what   string
		passed int64
		events batch
		due    bool
	}{
		{"one look just after the last", now - 10e6, batch{look}, false},
		{"one look that waits for long", now - handOverAfter, batch{look}, true},
		{"many looks", now - 10e6, make(batch, handOverShots), true},
		{"a new thread", now - 10e6, batch{look, {kind: looked, thread: &threadAccount{met: now - 5e6}}}, true},
		{"a thread that ended", now - 10e6, batch{{kind: threadEnded, thread: known}}, true},
		{"a new process", now - 10e6, batch{{kind: processBegan}}, true},
	} {
		for i := range c.events {
			if c.events[i].thread == nil && c.events[i].kind == looked {
				c.events[i].thread = known
			}
		}
		o := outbox{events: c.events, last: c.passed}
		if got := o.due(now); got != c.due {
			t.Errorf("%s: due %v", c.what, got)
		}
	}
}
