// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAPagerWithoutFilesFailsWithTheCause(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	p := &pager{command: "true"}
	_, err := p.Write([]byte("text"))
	if restored := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, unix.EMFILE) {
		t.Errorf("got %v, want too many open files", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
