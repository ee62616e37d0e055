// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
)

func TestSeveralPartsAreReadInOneCall(t *testing.T) {
	b := mapped(t, -1, 3, unix.MAP_PRIVATE|unix.MAP_ANON)
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	m := own(t, spanOf(b, Anonymous))
	at := address(b)
	parts := func(addrs ...uint64) (all []frames.Region) {
		for _, a := range addrs {
			all = append(all, frames.Region{Addr: a, Bytes: make([]byte, 100)})
		}
		return all
	}
	whole := parts(at+uint64(2*page), at, at+uint64(page)-50)
	calls := Calls()
	if n := m.ReadParts(os.Getpid(), whole); n != 3 || Calls() != calls+1 {
		t.Errorf("%d parts in %d calls, want 3 in 1", n, Calls()-calls)
	}
	for i, p := range whole {
		if off := p.Addr - at; !bytes.Equal(p.Bytes, b[off:off+100]) {
			t.Errorf("part %d has other bytes", i)
		}
	}
	if n := m.ReadParts(os.Getpid(), parts(at, at+uint64(3*page)-50, at)); n != 1 {
		t.Errorf("%d parts read where the second ends beyond the mapping, want 1", n)
	}
	protect(t, b[page:2*page], unix.PROT_NONE)
	if n := m.ReadParts(os.Getpid(), parts(at, at+uint64(page), at)); n != 1 {
		t.Errorf("%d parts read where the second is unreadable, want 1", n)
	}
	protect(t, b[page:2*page], unix.PROT_READ|unix.PROT_WRITE)
	if n := m.ReadParts(os.Getpid(), parts(8, at)); n != 0 {
		t.Errorf("%d parts read where the first is not memory, want 0", n)
	}
	many := parts()
	for range MaxParts + 1 {
		many = append(many, parts(at)...)
	}
	if n := m.ReadParts(os.Getpid(), many); n != MaxParts {
		t.Errorf("%d of %d parts read, want %d", n, len(many), MaxParts)
	}
}
