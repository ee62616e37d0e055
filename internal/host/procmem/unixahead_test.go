// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"testing"
	"time"
)

func TestUnixTimeIsExactWhenReadingItIsDelayed(t *testing.T) {
	calls := 0
	held := func() int64 {
		calls++
		at := int64(calls/2) * 10
		if calls%2 == 0 && calls != 14 {
			at += 1e9
		}
		return at
	}
	before := time.Now().UnixNano()
	got := UnixAhead(held, 20)
	if after := time.Now().UnixNano(); got < before-1000 || got > after {
		t.Errorf("%d ns before the real time or %d after it, want at most 1000 before", before-got, got-after)
	}
}
