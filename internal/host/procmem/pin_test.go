// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// A child ends the wait after the collection, or after its deadline.
func TestCollectionDoesNotWaitForTheEndOfAPinnedLookupOrRead(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (wait func(), end *os.File){
		"lookup": func(t *testing.T) (func(), *os.File) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			o, fd := NewPathOpener(), r.Fd()
			t.Cleanup(o.Close)
			return func() {
				_, _ = o.lookUp(nil, unix.SYS_READ, func(_, at uintptr) [6]uintptr { return [6]uintptr{fd, at, 1} })
			}, w
		},
		"read for the lock of the mappings": func(t *testing.T) (func(), *os.File) {
			log, err := os.OpenFile("/dev/kmsg", os.O_RDWR, 0) // a pread at its end waits
			testtargets.Need(t, err == nil, "the kernel's log", "the right to write to /dev/kmsg")
			b := mapped(t, -1, 1, unix.MAP_PRIVATE|unix.MAP_ANON)
			m := own(t, spanOf(b, Anonymous))
			if _, err := unix.Seek(int(log.Fd()), 0, unix.SEEK_END); err != nil {
				t.Fatal(err)
			}
			if err := unix.Dup3(int(log.Fd()), m.mem.fd(), unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			m.lastAnonymous = address(b)
			return func() { m.AwaitMmapLock() }, log
		},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			wait, end := start(t)
			child := exec.Command("sh", "-c", "timeout 10 cat; echo end of a test >&3")
			child.ExtraFiles = []*os.File{end}
			asked, err := child.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = child.Wait() }()
			end.Close()
			collected, tid := make(chan struct{}), unix.Gettid()
			go func() {
				for s := (Stat{}); s.State != 'S' && ReadStat(tid, &s) == nil; {
					runtime.Gosched()
				}
				runtime.GC()
				close(collected)
				asked.Close()
			}()
			Pin()
			wait()
			Unpin()
			select {
			case <-collected:
			default:
				t.Error("the collection has waited for the end of the wait")
			}
			bounded.Receive(t, "the collection ends", collected)
		})
	}
}

// Closing a file is such a call; on a slow or busy host it takes long enough.
func TestAPinHoldsThoughASystemCallLosesTheProcessor(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var over atomic.Bool
	defer over.Store(true)
	for range 2 * runtime.GOMAXPROCS(0) { // take each P that a system call leaves
		go func() {
			for !over.Load() {
				runtime.Gosched()
			}
		}()
	}
	for range 20 {
		Pin()
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		Unpin()
		if n := ReleasePins(); n != 0 {
			t.Fatalf("%d pins are left", n)
		}
		RestorePins(0)
	}
	for i := range pins {
		if pins[i] != 0 {
			t.Fatalf("thread %d has %d pins, which no goroutine has", i, pins[i])
		}
	}
}
