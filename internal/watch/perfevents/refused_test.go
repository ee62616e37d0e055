// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadersThatCannotBeOpenedAreNil(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	perThread, perThreadErr := OpenPerThread(ReaderOptions{Freq: 99, Stack: MinStack})
	fixed, fixedErr := Open(ReaderOptions{Freq: 99, Stack: MinStack})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if perThread != nil || perThreadErr == nil || fixed != nil || fixedErr == nil {
		t.Errorf("%v, %v and %v, %v; want no reader, and errors", perThread, perThreadErr, fixed, fixedErr)
	}
}
