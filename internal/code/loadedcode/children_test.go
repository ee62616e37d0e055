// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"prywalk/internal/host/process"
	"prywalk/internal/testtargets"
)

func child(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	path := testtargets.NeedProgram(t, name)
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

func copyProgram(t testing.TB, name string) string {
	t.Helper()
	from := testtargets.NeedProgram(t, name)
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	to := filepath.Join(t.TempDir(), name)
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

func wantKind(t *testing.T, err, sentinel error) *process.Error {
	t.Helper()
	var e *process.Error
	if !errors.As(err, &e) || !errors.Is(err, sentinel) {
		t.Fatalf("got %v, want %v", err, sentinel)
	}
	if e.Cause == "" {
		t.Errorf("no cause: %+v", e)
	}
	t.Log(err)
	return e
}
