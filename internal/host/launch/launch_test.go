// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

func TestHeldCommandRunsOnlyWhenReleased(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	l, err := Start([]string{"sh", "-c", `echo $$ >"$0"; exit 3`, out})
	if err != nil {
		t.Fatal(err)
	}
	if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", l.PID)); strings.HasSuffix(exe, "sh") {
		t.Errorf("runs %s before the release", exe)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Wait(); err != nil || st.ExitStatus() != 3 {
		t.Errorf("status %#x %v", st, err)
	}
	if text, _ := os.ReadFile(out); string(text) != fmt.Sprintf("%d\n", l.PID) {
		t.Errorf("wrote %q, want %d", text, l.PID)
	}
	if err := l.Signal(syscall.SIGTERM); err != os.ErrProcessDone {
		t.Errorf("Signal after Wait: %v", err)
	}
}

func TestCommandThatCannotRunGivesTheShellsCode(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	os.WriteFile(text, []byte("no program"), 0o644)
	odd := filepath.Join(dir, "odd")
	os.WriteFile(odd, []byte("\x7fELF no program"), 0o755)
	for path, want := range map[string]int{"no-such-program-here": 127, dir + "/none": 127, text: 126, odd: 126,
		dir: 126} {
		l, err := Start([]string{path})
		if err == nil {
			err = l.Release()
		}
		var e *ExecError
		if !errors.As(err, &e) || e.ExitCode() != want || !strings.Contains(e.Error(), path) ||
			!strings.Contains(e.Error(), "; check ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestHeldCommandEndsWithItsLauncher(t *testing.T) {
	l, err := Start([]string{"sh", "-c", "exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	l.hold.Close()
	if st, err := l.Wait(); err != nil || st.ExitStatus() != exitAbandoned {
		t.Errorf("status %#x %v", st, err)
	}
}

func TestHeldCommandEndedByASignalHasItsStatus(t *testing.T) {
	l, err := Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	bounded.Receive(t, "the killed command ends", l.Exited())
	if err := l.Release(); err != nil {
		t.Errorf("Release: %v, want no error: it is not one of the exec", err)
	}
	if st, err := l.Wait(); err != nil || !st.Signaled() || st.Signal() != syscall.SIGKILL {
		t.Errorf("status %#x %v, want that of SIGKILL", st, err)
	}
}

func TestCommandsAreForkedByOneThread(t *testing.T) {
	tid := Parent()
	if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid)); err != nil || Parent() != tid {
		t.Errorf("thread %d, then %d: %v", tid, Parent(), err)
	}
	l, err := Start([]string{"true"})
	if err != nil {
		t.Fatal(err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", tid))
	if err == nil && !slices.Contains(strings.Fields(string(children)), fmt.Sprint(l.PID)) { // CONFIG_PROC_CHILDREN
		t.Errorf("thread %d has the children %q, want %d", tid, children, l.PID)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	_, _ = l.Wait()
}
