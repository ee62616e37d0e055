// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestInheritedEventsRecordDescendants(t *testing.T) {
	const n = 20
	r, err := OpenDescendants()
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	cmd := exec.Command("sh", "-c", "read go; for i in $(seq 20); do /bin/true; done; exit 0")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if err := r.OpenThread(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_, _ = stdin.Write([]byte("go\n"))
	done := make(chan error)
	go func() { done <- cmd.Wait() }()
	var kids, trues, ends, ins, outs int
	hear := func() {
		r.Drain(func(rec *Record) {
			switch rec.Kind {
			case Forked:
				kids++
			case Exited:
				ends++
			case CommSet:
				if rec.Exec && string(rec.Name) == "true" {
					trues++
				}
			case SwitchedIn:
				ins++
			case SwitchedOut:
				outs++
			case Sampled:
				t.Errorf("a sample without sampling: %+v", rec)
			}
			if rec.Time == 0 || rec.PID == 0 {
				t.Errorf("record without time or PID: %+v", rec)
			}
		})
	}
	for over := false; !over; {
		select {
		case err := <-done:
			over = true
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Millisecond):
		}
		hear()
	}
	t.Logf("%d forks, %d ends, %d execs, %d and %d switches; %d lost", kids, ends, trues, ins, outs, r.Lost())
	if r.Lost() > 0 {
		t.Skip("records were lost: the machine delayed the test for longer than the rings have room for")
	}
	// The shell ends too. A thread that ends on a CPU has no switch from it before.
	if kids < n || trues != n || ends != kids+1 || ins < n || outs > ins {
		t.Errorf("records are missing: want at least %d forks, %d execs, %d ends, at least %d switches to a CPU", n, n,
			kids+1, n)
	}
	if r.Broken() > 0 || r.OpenThreads() != 1 {
		t.Errorf("%d invalid records, %d threads with events; want 0 and 1", r.Broken(), r.OpenThreads())
	}
	r.Close()
	if r.OpenThreads() != 0 {
		t.Error("a thread has events after Close")
	}
}

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
	descendants, descendantsErr := OpenDescendants()
	fixed, fixedErr := Open(Options{Freq: 99, Stack: MinStack})
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if descendants != nil || descendantsErr == nil || fixed != nil || fixedErr == nil {
		t.Errorf("%v, %v and %v, %v; want no reader, and errors", descendants, descendantsErr, fixed, fixedErr)
	}
}
