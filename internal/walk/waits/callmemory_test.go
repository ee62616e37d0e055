// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"
	"strings"
	"testing"
)

func TestASleepHasTheTimeThatIsLeft(t *testing.T) {
	stands := make([]byte, 16)
	binary.LittleEndian.PutUint64(stands, 7)
	binary.LittleEndian.PutUint64(stands[8:], 250e6)
	for _, c := range []struct {
		call         string
		clock, flags uint64
		at           int64
		want         string
	}{
		{"nanosleep", 0, 0, 5e9, "sleep for 7.25s"},
		{"clock_nanosleep", 1, 0, 5e9, "sleep for 7.25s"},
		{"clock_nanosleep", 1, timerAbsolute, 5e9, "sleep for 2.25s more"},
		{"clock_nanosleep", 1, timerAbsolute, 8e9, "sleep for 0s more"},
		{"clock_nanosleep", 1, timerAbsolute, 0, "sleep until 7.250 s of CLOCK_MONOTONIC"},
		{"clock_nanosleep", 0, timerAbsolute, 5e9, "sleep until 1970-01-01T00:00:07.25Z"},
		{"clock_nanosleep", 11, timerAbsolute, 5e9, "sleep until 7.250 s of clock 11"},
	} {
		s := &Sleeper{State: 'S', Reason: c.call, InCall: true, Args: [6]uint64{c.clock, c.flags, word}, At: c.at}
		if c.call == "nanosleep" {
			s.Args[0] = word
		}
		w := Describe(s)
		w.ReadCallMemory(s, func(_ uint64, buf []byte) int { return copy(buf, stands) })
		if w.String() != c.want {
			t.Errorf("%s(%d, %d) at %d: %q, want %q", c.call, c.clock, c.flags, c.at, w.String(), c.want)
		}
	}
}

func TestAPollOrSelectIsOfOneDescriptorOnlyIfAllAreKnown(t *testing.T) {
	pollfds := func(fds ...int32) (b []byte) {
		for _, fd := range fds {
			b = append(binary.LittleEndian.AppendUint32(b, uint32(fd)), 1, 0, 0, 0)
		}
		return b
	}
	const array, reads, writes, all = 0x1000, 0x2000, 0x3000, 0x4000
	memory := map[uint64][]byte{array: pollfds(5, -1, 7), reads: {1 << 5, 0}, all: make([]byte, maxSelected/8)}
	memory[all][0] = 1 << 5
	for _, c := range []struct {
		call string
		args [6]uint64
		ok   bool
	}{
		{"poll", [6]uint64{array, 1}, true},
		{"ppoll", [6]uint64{array, 2}, true},
		{"poll", [6]uint64{array, 3}, false},
		{"poll", [6]uint64{array, maxFDs + 1}, false},
		{"poll", [6]uint64{writes, 1}, false},
		{"select", [6]uint64{16, reads}, true},
		{"select", [6]uint64{16, reads, writes}, false},
		{"select", [6]uint64{maxSelected, all}, true},
		{"select", [6]uint64{maxSelected + 1, all}, false},
	} {
		s := &Sleeper{State: 'S', Reason: c.call, InCall: true, Args: c.args}
		w := Describe(s)
		fd, ok := w.OnlyDescriptor(s, func(addr uint64, b []byte) int { return copy(b, memory[addr]) })
		if ok != c.ok || ok && fd != 5 {
			t.Errorf("%s(%#x): %d, %v, want %v", c.call, c.args, fd, ok, c.ok)
		}
	}
}

func TestTheLookedUpPathIsShown(t *testing.T) {
	const end = 0x2000 // of the readable memory
	long := strings.Repeat("a", MaxPath)
	for _, c := range []struct {
		call  string
		state byte
		path  string // ends at end, with its zero byte if there is one
		want  string
	}{
		{"open", 'S', "/run/log.fifo\x00", "/run/log.fifo"},
		{"openat", 'S', "/run/log.fifo\x00", "/run/log.fifo"},
		{"statx", 'D', "/mnt/nfs\x00", "disk: /mnt/nfs"},
		{"statx", 'D', "/mnt/nfs", "disk"},
		{"statx", 'D', "", "disk"},
		{"openat", 'S', "\x00", "other"},
		{"openat", 'S', "/" + long[:300] + "\x00", "/" + long[:300]},
		{"openat", 'S', "/" + long[:MaxPath-2] + "\x00", "/" + long[:MaxPath-2]},
		{"openat", 'S', "/" + long[:MaxPath-1] + "\x00", "other"},
		{"getrandom", 'S', "/run/log.fifo\x00", "other"},
	} {
		memory := strings.Repeat("b", 4096-len(c.path)) + c.path
		addr := uint64(end - len(c.path))
		s := &Sleeper{State: c.state, Reason: c.call, InCall: true, Args: [6]uint64{addr, addr}}
		w := Describe(s)
		w.ReadCallMemory(s, func(addr uint64, b []byte) int {
			if addr < end && addr+uint64(len(b)) > end {
				t.Errorf("%s: %d bytes at %#x: in a readable page and the next one", c.call, len(b), addr)
			}
			return copy(b, memory[addr-(end-4096):])
		})
		if w.Object() != c.want {
			t.Errorf("%s of %q in state %c: %q, want %q", c.call, c.path, c.state, w.Object(), c.want)
		}
	}
}
