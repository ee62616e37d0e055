// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
)

func child(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s: sudo make setup-all", name)
	}
	return testtargets.Child(t, exec.Command(path, args...))
}

func open(t testing.TB, pid int) *Process {
	t.Helper()
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func wantKind(t *testing.T, err, sentinel error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, sentinel) {
		t.Fatalf("got %v, want %v", err, sentinel)
	}
	if e.Cause == "" {
		t.Errorf("error without a cause: %+v", e)
	}
	t.Log(err)
	return e
}
