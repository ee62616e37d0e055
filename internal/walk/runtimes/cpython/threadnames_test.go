// SPDX-License-Identifier: Apache-2.0

package cpython

import "testing"

// Between the ticks of 99 Hz a thread can be listed and end.
func TestAMissingNameIsReadAgainBeforeTheNextTick(t *testing.T) {
	const now, tick = int64(1e12), int64(1e9) / 99
	for _, c := range []struct {
		threads int
		since   int64
		due     bool
	}{
		{2, tick, true}, {30, tick, true}, {2, 1e5, false}, {1000, tick, false}, {1000, 30e6, true},
	} {
		n := threadNames{threads: &threads{list: make([]thread, c.threads)}, readAt: now - c.since, allReadAt: now - c.since}
		if all, missing := n.due(now); all || missing != c.due {
			t.Errorf("%d threads, %d ns after the last reading: all %v, missing ones %v", c.threads, c.since, all, missing)
		}
	}
}
