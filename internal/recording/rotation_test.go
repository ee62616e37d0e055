// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAPartInADirectoryThatCannotBeSearchedHasAName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.Local)
	r := newRotation(filepath.Join(file, "r.pb.gz"), time.Hour, 0) // ENOTDIR
	if got, want := r.path(at), filepath.Join(file, "r-20260203-040506.pb.gz"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTopOfProcessesThatHaveAllEndedHasAHeading(t *testing.T) {
	l := &topRun{}
	if l.describe(nil); l.target != "no process" {
		t.Errorf("got %q", l.target)
	}
}
