// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
)

type listed struct {
	Host
	bytes   []byte
	arch    frames.Arch
	without string
}

const (
	listedAt   = 1 << 32
	rtld       = listedAt + 0x400
	usedHead   = rtld + 0x10
	userHead   = rtld + 0x20
	listOff    = 704
	tidOff     = 720
	pthreadLen = 2304
)

func (l *listed) Read(addr uint64, b []byte) int {
	if addr < listedAt || addr-listedAt >= uint64(len(l.bytes)) {
		return 0
	}
	return copy(b, l.bytes[addr-listedAt:])
}

func (l *listed) Arch() frames.Arch { return l.arch }

func (l *listed) Modules() []*frames.Module {
	return []*frames.Module{{Name: "/usr/bin/php"}, {Name: "/lib/x86_64-linux-gnu/libc.so.6"},
		{Name: "/lib64/ld-linux-x86-64.so.2"}}
}

func (l *listed) OwnSymbols(m *frames.Module, _ ...string) (list []Symbol) {
	switch m.Name {
	case "/lib/x86_64-linux-gnu/libc.so.6":
		for i, name := range []string{symUsed, symUser, symList, symTID, symSize} {
			if name != l.without {
				list = append(list, Symbol{Name: name, Addr: listedAt + 16*uint64(i)})
			}
		}
	case "/lib64/ld-linux-x86-64.so.2":
		list = append(list, Symbol{Name: symRtld, Addr: rtld})
	}
	return list
}

func (l *listed) put(at, v uint64) { binary.LittleEndian.PutUint64(l.bytes[at-listedAt:], v) }

func pthread(i uint64) uint64 { return listedAt + 0x1000*i }

func (l *listed) link(head uint64, numbers ...uint64) {
	last := head
	for _, i := range append(numbers, 0) {
		at := pthread(i) + listOff
		if i == 0 {
			at = head
		}
		l.put(last, at)
		l.put(at+8, last)
		last = at
	}
}

func newListed() *listed {
	l := &listed{bytes: make([]byte, 0x6000), arch: frames.X86_64}
	for i, offset := range []uint64{usedHead - rtld, userHead - rtld, listOff, tidOff} {
		binary.LittleEndian.PutUint32(l.bytes[16*i+8:], uint32(offset))
	}
	l.put(listedAt+64, pthreadLen)
	l.link(usedHead, 1, 4, 2)
	l.link(userHead, 3)
	for i := range uint64(3) {
		l.put(pthread(i+1)+tidOff, 101+i)
	}
	return l
}

func (t *ThreadPointers) pointers(h Host) (at [3]uint64) {
	for i := range at {
		at[i], _ = t.PointerOf(h, 101+i)
	}
	return at
}

func TestThreadsAreFoundInTheListsOfTheCLibrary(t *testing.T) {
	all := [3]uint64{pthread(1), pthread(2), pthread(3)}
	for _, c := range []struct {
		name   string
		change func(*listed)
		want   [3]uint64
	}{
		{"all", func(*listed) {}, all},
		{"arm64", func(l *listed) { l.arch = frames.ARM64 },
			[3]uint64{pthread(1) + pthreadLen, pthread(2) + pthreadLen, pthread(3) + pthreadLen}},
		{"no descriptor", func(l *listed) { l.without = symTID }, [3]uint64{}},
		{"no size", func(l *listed) { l.without = symSize }, [3]uint64{}},
		{"fields far apart", func(l *listed) { binary.LittleEndian.PutUint32(l.bytes[48+8:], 4000) }, [3]uint64{}},
		{"a changed list", func(l *listed) { l.put(pthread(2)+listOff+8, usedHead) }, [3]uint64{all[0], 0, all[2]}},
		{"a circle", func(l *listed) { l.put(pthread(2)+listOff, pthread(1)+listOff) }, all},
		{"a circle of one", func(l *listed) {
			l.put(pthread(2)+listOff, pthread(2)+listOff)
			l.put(pthread(2)+listOff+8, pthread(2)+listOff)
		}, [3]uint64{all[0], 0, all[2]}},
		{"unreadable", func(l *listed) { l.put(pthread(1)+listOff, 1<<40) }, [3]uint64{all[0], 0, all[2]}},
		{"an empty list", func(l *listed) { l.link(usedHead) }, [3]uint64{0, 0, all[2]}},
	} {
		l := newListed()
		c.change(l)
		var th ThreadPointers
		th.Find(l)
		if got := th.pointers(l); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}

// The lists are not read again at once.
func TestEndedThreadsAreDropped(t *testing.T) {
	l := newListed()
	var th ThreadPointers
	th.Find(l)
	th.pointers(l)
	l.put(pthread(1)+tidOff, 0)
	l.put(pthread(2)+tidOff, 101)
	if got := th.pointers(l); got != [3]uint64{0, 0, pthread(3)} {
		t.Errorf("at once: %#x", got)
	}
	th.next = 0
	if got := th.pointers(l); got != [3]uint64{pthread(2), 0, pthread(3)} {
		t.Errorf("after a while: %#x", got)
	}
	if _, ok := th.PointerOf(l, 0); ok {
		t.Error("the ID 0 has a thread")
	}
}

func FuzzThreadPointers(f *testing.F) {
	f.Add(newListed().bytes)
	f.Fuzz(func(_ *testing.T, b []byte) {
		l := &listed{bytes: b, arch: frames.X86_64}
		var th ThreadPointers
		th.Find(l)
		for range 2 {
			th.PointerOf(l, 101)
			th.next = 0
		}
	})
}
