// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"slices"
	"testing"
)

func TestProcessesOfCyclesAndOfLocksWithoutAnOwnerAreSuspects(t *testing.T) {
	for _, c := range []struct {
		what              string
		waitsFor, unowned map[int]int
		want              []int
	}{
		{"nothing waits", nil, nil, nil},
		{"a chain", map[int]int{1: 2, 2: 3}, nil, nil},
		{"a cycle of two processes, and a waiter outside of it", map[int]int{1: 2, 2: 1, 3: 1}, nil, []int{10, 11}},
		{"a cycle with a thread that is not recorded", map[int]int{1: 9, 9: 1}, nil, []int{10}},
		{"waiters at locks without an owner", map[int]int{1: 2, 2: 1}, map[int]int{12: 2, 13: 1, 11: 2},
			[]int{10, 11, 12}},
	} {
		s := deadlockSuspects{waitsFor: c.waitsFor, pids: map[int]int{1: 10, 2: 11, 3: 12}, unowned: c.unowned,
			threads: map[int]int{20: 1, 21: 2}, atLock: map[int]int{21: 1}}
		if got := s.processes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

func TestAProcessWhoseThreadsAllWaitForLocksIsASuspect(t *testing.T) {
	s := deadlockSuspects{threads: map[int]int{20: 1, 21: 2, 22: 2}, atLock: map[int]int{20: 1, 21: 1, 22: 2}}
	if got, want := s.processes(), []int{20, 22}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
