// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func relayedMemory(t *testing.T) (m *Memory, b []byte, relays *Relays) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	b = mapped(t, -1, 40, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	m, relays = own(t, spanOf(b, Anonymous)), NewRelays()
	t.Cleanup(relays.Close)
	m.Relay(relays)
	return m, b, relays
}

func TestRelayReadsTheSameBytes(t *testing.T) {
	m, b, _ := relayedMemory(t)
	for _, r := range []struct{ at, n, want int }{
		{0, 8, 8}, {100, 5000, 5000}, {3 * page, 9 * page, 9 * page}, {1, 39 * page, 39 * page},
		{38 * page, 2 * page, 2 * page},
	} {
		if !m.Within(60e9) {
			t.Fatal("no relay is free")
		}
		got := make([]byte, r.n)
		n := m.Copy(os.Getpid(), address(b)+uint64(r.at), got)
		if n != r.want || !bytes.Equal(got[:n], b[r.at:r.at+n]) || m.Late() {
			t.Errorf("%d bytes at %d: read %d, want %d, late %v", r.n, r.at, n, r.want, m.Late())
		}
	}
	if took := m.AwaitMappings(); took <= 0 {
		t.Errorf("the mmap lock took %d ns, want more than 0", took)
	}
}

func TestRelayedReadThatBlocksIsAbandoned(t *testing.T) {
	m, b, relays := relayedMemory(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pid, at, got := os.Getpid(), address(b), make([]byte, page)
	if !m.Within(60e9) {
		t.Fatal("no relay is free")
	}
	if n := m.relayed.pread(int(r.Fd()), got[:8], 0); n != -int(unix.ESPIPE) {
		t.Errorf("pread of a pipe returns %d, want -ESPIPE", n)
	}
	if !m.Within(1e6) {
		t.Fatal("no relay is free")
	}
	if n, ok := m.relayed.do(unix.SYS_READ, [6]uintptr{r.Fd(), m.relayed.thread.at(), 8}); ok || !m.Late() || !m.Waited() {
		t.Errorf("read of an empty pipe returns %d, late %v, waited %v; want late and waited", n, m.Late(), m.Waited())
	}
	if n := m.Copy(pid, at, got); n != 0 || m.Within(1e6) || m.Copy(pid, at, got) != 0 {
		t.Errorf("%d bytes were read while the relay was blocked", n)
	}
	m.Relay(nil)
	if !m.Relayed() {
		t.Error("the calling thread would wait for the mmap lock that the blocked relay waits for")
	}
	if other := own(t, spanOf(b, Anonymous)); true {
		if other.Relay(relays); !other.Within(60e9) || other.Copy(pid, at, got) != page {
			t.Error("memory of another process is not read while a relay is blocked")
		}
	}
	clear(got)
	if _, err := w.Write([]byte("too late")); err != nil {
		t.Fatal(err)
	}
	for !m.Within(60e9) {
		SleepUntil(Now() + 1e5)
	}
	if !bytes.Equal(got, make([]byte, page)) {
		t.Error("bytes of an abandoned read were written to the buffer")
	}
	if n := m.Copy(pid, at, got); n != page || !bytes.Equal(got, b[:page]) {
		t.Errorf("%d bytes after the blocked read has returned, want %d", n, page)
	}
}

func TestRelaysEnd(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	relays := NewRelays()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := relays.Hold(int(r.Fd()))
	tids := []int{}
	for _, th := range relays.all[:relays.n] {
		tids = append(tids, th.tid)
	}
	if n != mostRelays || len(tids) != n || !IsRelay(tids[0]) || IsRelay(unix.Gettid()) {
		t.Errorf("%d relays, want %d with known thread IDs", n, mostRelays)
	}
	relays.Close()
	w.Close()
	for _, tid := range tids {
		for unix.Tgkill(os.Getpid(), tid, 0) == nil {
			SleepUntil(Now() + 1e6)
		}
	}
}
