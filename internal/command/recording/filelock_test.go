// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/show/view"
	"prywalk/internal/testtargets"
)

func TestAFileLockIsALockInTheRecording(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	held, err := os.Create(lock)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	waiter := exec.Command("flock", lock, "true")
	if err := waiter.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = held.Close()
		_ = waiter.Wait()
	}()
	testtargets.Asleep(t, waiter.Process.Pid)
	p := recorded(t, waiter.Process.Pid)
	last := p.Sample[len(p.Sample)-1]
	if !view.IsSynchronization(last) || view.Label(last, "waits_for") != "file-lock "+lock {
		t.Errorf("waits for %q, want the file lock", view.Label(last, "waits_for"))
	}
}
