// SPDX-License-Identifier: Apache-2.0

package tracer

import "testing"

func TestBrokenCallsAreCountedByName(t *testing.T) {
	var h callEffects
	h.broken[0], h.broken[maxCalls] = 2, 1
	got := byCall(&h.broken, 5)
	if len(got) != 2 || got["other"] != 3 {
		t.Errorf("%v", got)
	}
	if got := byCall(&h.reported, 0); len(got) != 0 {
		t.Errorf("%v", got)
	}
}
