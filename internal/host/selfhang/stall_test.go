// SPDX-License-Identifier: Apache-2.0

package selfhang

import (
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

func TestAThreadThatStaysInOneReadIsSaidToHang(t *testing.T) {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	var tid atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		procmem.OnOSThread(func() {
			tid.Store(int32(unix.Gettid()))
			var b [1]byte
			_, _ = unix.Read(pipe[0], b[:])
		})
	}()
	var stalls, tracers Stalls
	defer stalls.Close()
	defer tracers.Close()
	testtargets.Eventually(t, "the read is found to hang", func() bool {
		what := stalls.HungReader(0)
		if on := tracers.HungTracer(int(tid.Load())); on != "" {
			t.Errorf("a wait that a signal ends is one of the tracer's own: %q", on)
		}
		return strings.HasPrefix(what, "read")
	})
	if what := stalls.HungReader(int(tid.Load())); what != "" {
		t.Errorf("%q, but that thread was left out", what)
	}
	_, _ = unix.Write(pipe[1], []byte{0})
	bounded.Receive(t, "the read ends", done)
	testtargets.Eventually(t, "the thread has ended", func() bool {
		return unix.Tgkill(os.Getpid(), int(tid.Load()), 0) != nil
	})
	tracers.HungTracer(int(tid.Load()))
	if len(tracers.seen) > 0 {
		t.Error("the files of an ended thread are kept, and another one with its ID would not be checked")
	}
	if what := stalls.HungReader(0); what != "" {
		t.Errorf("%q after it has read", what)
	}
}

func TestAHangOutsideASystemCallIsAPageFault(t *testing.T) {
	var stalls Stalls
	defer stalls.Close()
	s := stalls.stallOf(os.Getpid())
	s.call = -1 // of proc_pid_syscall(5)
	if what := s.describe(); !strings.HasPrefix(what, "a page fault") {
		t.Errorf("it hangs in %q", what)
	}
}

func TestWhatHangsIsNotWaitedFor(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd := int(r.Fd()) // blocking
	if err := Watched(func() { _, _ = unix.Read(fd, make([]byte, 1)) }); !errors.Is(err, Err) {
		t.Errorf("%v", err)
	}
	if _, err := w.Write([]byte{0}); err != nil {
		t.Error(err)
	}
	ended := false
	if err := OnWatchedThread(func() { ended = true }); err != nil || !ended {
		t.Errorf("%v, ended %v", err, ended)
	}
}
