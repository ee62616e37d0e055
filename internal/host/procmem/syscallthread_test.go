// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/testtargets"
)

func memoryReadByThreads(t *testing.T) (m *Memory, b []byte, threads *SyscallThreads) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	b = mapped(t, -1, 40, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	m, threads = own(t, spanOf(b, Anonymous)), NewSyscallThreads()
	t.Cleanup(threads.Close)
	m.SetSyscallThreads(threads)
	return m, b, threads
}

func TestSyscallThreadReadsTheSameBytes(t *testing.T) {
	m, b, _ := memoryReadByThreads(t)
	for _, r := range []struct{ at, n, want int }{
		{0, 8, 8}, {100, 5000, 5000}, {3 * page, 9 * page, 9 * page}, {1, 39 * page, 39 * page},
		{38 * page, 2 * page, 2 * page},
	} {
		if !m.BeginReads(60e9) {
			t.Fatal("no thread is free")
		}
		got := make([]byte, r.n)
		n := m.Copy(os.Getpid(), address(b)+uint64(r.at), got)
		if n != r.want || !bytes.Equal(got[:n], b[r.at:r.at+n]) || m.TimedOut() {
			t.Errorf("%d bytes at %d: read %d, want %d, late %v", r.n, r.at, n, r.want, m.TimedOut())
		}
	}
	if took := m.AwaitMmapLock(); took <= 0 {
		t.Errorf("the mmap lock took %d ns, want more than 0", took)
	}
}

func TestReadThatBlocksInASyscallThreadIsAbandoned(t *testing.T) {
	m, b, threads := memoryReadByThreads(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pid, at, got := os.Getpid(), address(b), make([]byte, page)
	if !m.BeginReads(60e9) {
		t.Fatal("no thread is free")
	}
	if n := m.threadReads.pread(int(r.Fd()), got[:8], 0); n != -int(unix.ESPIPE) {
		t.Errorf("pread of a pipe returns %d, want -ESPIPE", n)
	}
	if !m.BeginReads(1e6) {
		t.Fatal("no thread is free")
	}
	n, ok := m.threadReads.call(unix.SYS_READ, [6]uintptr{r.Fd(), m.threadReads.thread.bufAddr(), 8})
	if ok || !m.TimedOut() || !m.WaitedForLock() {
		t.Errorf("read of an empty pipe returns %d, timed out %v, waited %v; want both", n, m.TimedOut(),
			m.WaitedForLock())
	}
	if n := m.Copy(pid, at, got); n != 0 || m.BeginReads(1e6) || m.Copy(pid, at, got) != 0 {
		t.Errorf("%d bytes were read while the thread was blocked", n)
	}
	m.SetSyscallThreads(nil)
	if !m.UsesSyscallThreads() {
		t.Error("the calling thread would wait for the mmap lock that the blocked thread waits for")
	}
	if other := own(t, spanOf(b, Anonymous)); true {
		if other.SetSyscallThreads(threads); !other.BeginReads(60e9) || other.Copy(pid, at, got) != page {
			t.Error("memory of another process is not read while a thread is blocked")
		}
	}
	clear(got)
	if _, err := w.Write([]byte("too late")); err != nil {
		t.Fatal(err)
	}
	for !m.BeginReads(60e9) {
		SleepUntil(Now() + 1e5)
	}
	if !bytes.Equal(got, make([]byte, page)) {
		t.Error("bytes of an abandoned read were written to the buffer")
	}
	if n := m.Copy(pid, at, got); n != page || !bytes.Equal(got, b[:page]) {
		t.Errorf("%d bytes after the blocked read has returned, want %d", n, page)
	}
}

// The kernel's random bytes take CPU time, and wait for nothing.
func TestWorkOfASyscallThreadIsNoWait(t *testing.T) {
	m, _, _ := memoryReadByThreads(t)
	r := &m.threadReads
	const limit = 20_000 // ns, less than the work
	testtargets.Eventually(t, "a call that works for longer than it may wait is not late", func() bool {
		for !m.BeginReads(limit) {
			SleepUntil(Now() + 1e5)
		}
		r.measured = 1
		worked, began := r.cpu(), Now()
		n, ok := r.call(unix.SYS_GETRANDOM, [6]uintptr{r.thread.bufAddr(), threadBuf})
		r.measured = 1
		worked = r.cpu() - worked
		if waited := Now() - began - worked; !ok && waited < limit {
			t.Errorf("a call that has waited for %d ns is late, want only after %d", waited, limit)
		}
		return ok && n == threadBuf && worked > 2*limit
	})
}

// A blocked call has no CPU time: it is as late as before CPU time was measured.
func TestMeasuredReadThatBlocksIsLate(t *testing.T) {
	m, _, _ := memoryReadByThreads(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	by := &m.threadReads
	for _, by.measured = range []int{0, 1} {
		for !m.BeginReads(1e6) {
			SleepUntil(Now() + 1e5)
		}
		_, ok := by.call(unix.SYS_READ, [6]uintptr{r.Fd(), by.thread.bufAddr(), 1})
		if ok || !m.TimedOut() || !m.WaitedForLock() || by.measured == 0 {
			t.Errorf("a read of an empty pipe ended: %v, late %v, waited %v; %d are measured", ok, m.TimedOut(),
				m.WaitedForLock(), by.measured)
		}
		if _, err := w.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSyscallThreadsEnd(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	threads := NewSyscallThreads()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := threads.BlockIdle(int(r.Fd()))
	tids := []int{}
	for _, th := range threads.all[:threads.n] {
		tids = append(tids, th.tid)
	}
	if n != maxSyscallThreads || len(tids) != n || !IsSyscallThread(tids[0]) || IsSyscallThread(unix.Gettid()) {
		t.Errorf("%d threads, want %d with known thread IDs", n, maxSyscallThreads)
	}
	threads.Close()
	w.Close()
	for _, tid := range tids {
		for unix.Tgkill(os.Getpid(), tid, 0) == nil {
			SleepUntil(Now() + 1e6)
		}
	}
}
