// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestBudgetsOfDescriptorsLeaveTheReserve(t *testing.T) {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) })
	const reserve = 512
	for _, limit := range []uint64{64, 1024, 4096, 1 << 19} {
		if limit > old.Max {
			continue
		}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		threads, memory := NewFDBudget(reserve).Left(), newMemoryBudget().Left()
		if threads+memory+reserve > int(limit) && threads > 0 {
			t.Errorf("limit %d: %d descriptors for threads, %d for memory, %d are left", limit, threads, memory,
				int(limit)-threads-memory)
		}
		if memory == 0 || memory > int(limit)/2 || limit >= 1024 && threads < 256 {
			t.Errorf("limit %d: %d descriptors for threads, %d for memory", limit, threads, memory)
		}
	}
}
