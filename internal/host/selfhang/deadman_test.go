// SPDX-License-Identifier: Apache-2.0

package selfhang

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

const asChild = "PRYWALK_TEST_STANDS_STILL"

func TestProcessWhoseGoroutinesStandStillEndsByItself(t *testing.T) {
	if os.Getenv(asChild) != "" {
		standStillHere()
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), asChild+"=1")
	out, err := child.CombinedOutput()
	var end *exec.ExitError
	if !errors.As(err, &end) || ctx.Err() != nil || end.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("%v (%v), want an end by SIGKILL:\n%s", err, ctx.Err(), out)
	}
}

// A pinned goroutine sleeps outside the Go scheduler; a collection waits for it.
func standStillHere() {
	pinned := make(chan struct{})
	go procmem.OnOSThread(func() {
		ptrace.Pin()
		close(pinned)
		for {
			procmem.SleepUntil(procmem.Now() + 1e9)
		}
	})
	<-pinned // the test bounds this process
	d := newDeadman(50e6)
	for {
		runtime.GC()
		d.Reset()
	}
}

func TestDeadmanThatIsResetOrClosedDoesNotEndTheProcess(t *testing.T) {
	const limit = 300e6
	d := newDeadman(limit)
	for range 20 {
		use(limit / 10) // of this thread; others use some, too
		d.Reset()
	}
	d.Close()
	use(2 * limit)
}

// use uses at least ns of this process's CPU time.
func use(ns uint64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := procmem.ThreadCPU() + ns; procmem.ThreadCPU() < end; {
	}
}
