// SPDX-License-Identifier: Apache-2.0

package safeopen

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func copyWith(t *testing.T, script string) (*Opener, Request) {
	t.Helper()
	Copier = []string{"/bin/sh", "-c", script}
	t.Cleanup(func() {
		Copier = nil
		total.vain.mu.Lock()
		defer total.vain.mu.Unlock()
		total.vain.sum = 0
	})
	o := new(Opener)
	o.calls.late.Store(1) // shorter time limits
	return o, Request{Path: "/mnt/file"}
}

func TestACopyOfSingleBytesIsGivenUp(t *testing.T) {
	o, r := copyWith(t, "while printf x >&3; do sleep 0.05; done")
	if f, err := o.openByCopier(r); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, error %v", f, err)
	}
	if sum := total.vain.add(0, time.Now()); sum <= totalLimit {
		t.Errorf("%v count as waited in vain", sum)
	}
}

func TestNothingIsCopiedAfterMuchVainWaiting(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	o, r := copyWith(t, "touch "+ran)
	total.vain.add(time.Hour, time.Now())
	if _, err := o.openByCopier(r); !errors.Is(err, ErrStuck) {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a copier was started")
	}
}

func TestACopyHasTheSizeThatTheFileHadWhenOpened(t *testing.T) {
	const size = 1 << 20 // more than a pipe takes
	name := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(name, make([]byte, size), 0o600))
	from, to, err := os.Pipe()
	must(t, err)
	copied := make(chan error, 1)
	go func() {
		var reply bytes.Buffer
		copied <- errors.Join(Copy(strings.NewReader(`{"Path":"`+name+`"}`), to, &reply), to.Close())
	}()
	first := make([]byte, 1)
	_, err = io.ReadFull(from, first)
	must(t, err)
	must(t, os.Truncate(name, 2*size))
	rest, err := io.ReadAll(from)
	must(t, errors.Join(err, <-copied))
	if n := len(first) + len(rest); n != size {
		t.Errorf("%d bytes, want %d", n, size)
	}
}
