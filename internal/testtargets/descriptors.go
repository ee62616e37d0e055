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
	var was unix.Rlimit
	err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &was)
	if err == nil { // not 0, with which poll(2) fails
		err = unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: was.Max}, nil)
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
