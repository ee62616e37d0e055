// SPDX-License-Identifier: Apache-2.0

package heuristics

import "testing"

func TestManyWeakVotesCountMoreThanOne(t *testing.T) {
	var v votes
	often := finding{cfa: startValue(hwSP).plus(16)}
	for range 257 {
		v.add(&often, true)
	}
	for range 2 {
		v.add(&finding{cfa: startValue(hwSP).plus(8)}, true)
	}
	if f, _ := v.best(); *f != often {
		t.Errorf("the best is %+v", f)
	}
}
