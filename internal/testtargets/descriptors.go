// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Descriptors counts this process's open descriptors.
func Descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// WithoutDescriptors calls f while this process can open no file (EMFILE). Precondition: no test runs beside it.
func WithoutDescriptors(t testing.TB, f func()) {
	t.Helper()
	WithDescriptorsBelow(t, 1, f) // not 0, with which poll(2) fails
}

// WithDescriptorsBelow calls f while the numbers of new descriptors must be below limit. Precondition: no test runs
// beside it.
func WithDescriptorsBelow(t testing.TB, limit uint64, f func()) {
	t.Helper()
	var was unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &was)
	if err == nil {
		err = unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limit, Max: was.Max}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { // also if f ends the test
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, &was, nil); err != nil {
			t.Error(err)
		}
	}()
	f()
}
