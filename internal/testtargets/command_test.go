// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"prywalk/internal/testtargets/bounded"
)

func TestCommandRunsInItsDirectoryAndEndsWithItsChildren(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\nexec sh -c \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Command(dir, time.Minute, "./run", `(while :; do :; done) & echo $! > child; wait`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "child")); err != nil {
		t.Error(err)
	}
	kids := tree(p.PID)
	if len(kids) != 1 {
		t.Fatalf("children %v, want one", kids)
	}
	p.Stop()
	bounded.Receive(t, "the stopped program ends", p.Exited())
	Eventually(t, "the child is gone after Stop", func() bool { return !isAlive(kids[0]) })
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory still exists: %v", err)
	}
}

func TestCommandReturnsAnErrorIfItDoesNotStart(t *testing.T) {
	for _, args := range [][]string{{}, {"no such program"}, {"false"}} {
		if p, err := Command(t.TempDir(), time.Minute, args...); err == nil {
			p.Stop()
			t.Errorf("%q was started, want an error", args)
		}
	}
	if _, err := Source("none.c"); err == nil {
		t.Error("no error for a missing source")
	}
	if text, err := Source("Work.java"); err != nil || len(text) == 0 {
		t.Errorf("Work.java has %d bytes, %v", len(text), err)
	}
}

func isAlive(pid int) bool {
	f := statFields(pid)
	return len(f) > 0 && f[0] != "Z"
}
