// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

func TestInheritedEventsRecordDescendants(t *testing.T) {
	const n = 20
	r, err := OpenDescendants()
	if errors.Is(err, ErrDenied) || errors.Is(err, ErrUnsupported) {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	cmd := exec.Command("sh", "-c", "while read go; do /bin/true; done; exit 0")
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
	// One child after the other: rings have room for the records of many.
	until := func(what string, holds func() bool) {
		testtargets.Eventually(t, what, func() bool { hear(); return holds() })
	}
	for i := range n {
		_, _ = stdin.Write([]byte("go\n"))
		until("a child has come and gone", func() bool { return kids > i && trues > i && ends > i })
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	until("the shell has ended", func() bool { return ends > n })
	t.Logf("%d forks, %d ends, %d execs, %d and %d switches; %d lost", kids, ends, trues, ins, outs, r.Lost())
	// The shell ends too. A thread that ends on a CPU has no switch from it before.
	if kids < n || trues != n || ends != kids+1 || ins < n || outs > ins || r.Lost() > 0 {
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
