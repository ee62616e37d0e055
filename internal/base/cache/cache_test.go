// SPDX-License-Identifier: Apache-2.0

package cache

import "testing"

func TestFullCacheDropsOneOtherEntry(t *testing.T) {
	const limit = 8
	var c map[int]int
	for k := range 3 * limit {
		before := len(c)
		Put(&c, limit, k, -k)
		if c[k] != -k || len(c) != min(before+1, limit) {
			t.Fatalf("after entry %d: %v", k, c)
		}
	}
	last := 3*limit - 1
	for k := range c {
		if k != last {
			Put(&c, limit, k, 7)
		}
	}
	if len(c) != limit || c[last] != -last {
		t.Errorf("replacing values has dropped entries: %v", c)
	}
	if k := Any(c); c[k] == 0 {
		t.Errorf("%d is not in %v", k, c)
	}
	if k := Any(map[int]int{}); k != 0 {
		t.Errorf("%d is in an empty cache", k)
	}
}
