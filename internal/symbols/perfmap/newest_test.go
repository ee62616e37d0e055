// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/filememory"
)

// In the reference each line overwrites an array. The last 15 lines keep their addresses, the others lose them or
// keep them.
func TestNewestLinesAreKept(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var want [300]int
		var m Map
		const lines = 60
		for i := 1; i <= lines; i++ {
			start, size := r.IntN(200), 1+r.IntN(99)
			name := fmt.Sprintf("%d %s", i, strings.Repeat("x", r.IntN(nameChunk/8)))
			if err := m.feed(fmt.Appendf(nil, "%x %x %s\n", start, size, name)); err != nil {
				t.Fatal(err)
			}
			for a := start; a < start+size; a++ {
				want[a] = i
			}
			if i%20 == 0 {
				m.keepNewest()
			}
		}
		m.index()
		for a, w := range want {
			name, _, _, _ := m.Lookup(uint64(a))
			got := 0
			_, _ = fmt.Sscan(name, &got)
			if got != w && (got != 0 || w > lines-15) {
				t.Fatalf("at %#x got %q, want %d", a, name, w)
			}
		}
	}
}

func TestAMapWithoutRoomKeepsItsNewestLines(t *testing.T) {
	const budget = 4 << 20
	for what, c := range map[string]struct {
		addresses, lines int
		oldestHasName    bool
		refused          bool
	}{
		"reused":    {1000, 100_000, true, false},
		"different": {100_000, 100_000, false, true},
	} {
		b := filememory.New(budget)
		m := Map{memory: b.Account("/tmp/perf-1.map")}
		for i := range c.lines {
			if err := m.feed(fmt.Appendf(nil, "%x 10 f%d\n", 0x1000+16*(i%c.addresses), i)); err != nil {
				t.Fatal(err)
			}
		}
		m.index()
		for k := range c.addresses {
			last := c.lines - c.addresses + k
			name, _, _, ok := m.Lookup(uint64(0x1000 + 16*k))
			if want := fmt.Sprintf("f%d", last); name != want && (ok || c.oldestHasName || last > c.lines-1000) {
				t.Fatalf("%s: line %d is %q, want %q", what, last, name, want)
			}
		}
		if _, _, _, ok := m.Lookup(0x1000); ok != c.oldestHasName {
			t.Errorf("%s: the first address has a name: %t", what, ok)
		}
		if got := b.Refusals() != ""; got != c.refused || m.full {
			t.Errorf("%s: refused %q, full %t", what, b.Refusals(), m.full)
		}
		if m.memory.Close(); b.Used() != 0 {
			t.Errorf("%s: %d bytes are still used", what, b.Used())
		}
	}
}

func TestAReusedAddressInAMapBeyondItsLimitHasItsNewName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "map")
	r := NewReader(nil)
	r.most = 4096
	open := func() (io.ReadCloser, int64) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return f, st.Size()
	}
	text := "1000 10 old\n2000 10 oldest\n"
	add := func(from, n int) {
		for i := range n {
			text += fmt.Sprintf("%x 10 filler%d\n", 0x100000+16*(from+i), from+i)
		}
	}
	for _, c := range []struct {
		lines   int
		reused  string
		oldest  string
		comment string
	}{
		{10, "old", "oldest", "within the limit"},
		{100, "first", "oldest", "grown within a step"},
		{1000, "second", "", "grown by more than the limit"},
		{100, "third", "", "grown within a step beyond the limit"},
	} {
		add(len(text), c.lines)
		if c.reused != "old" {
			text += "1000 10 " + c.reused + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Expire()
		m := r.Map(open, true, nil)
		for addr, want := range map[uint64]string{0x1000: c.reused, 0x2000: c.oldest} {
			if got, _, _, _ := m.Lookup(addr); got != want {
				t.Errorf("%s: at %#x %q, want %q", c.comment, addr, got, want)
			}
		}
	}
}

func TestTheFirstLineOfAPartOfAMapIsWhole(t *testing.T) {
	const line = "1000 10 name\n"
	for skipped := range len(line) {
		text := strings.Repeat("2000 10 f\n", 3) + line + "3000 10 last\n"
		file := filepath.Join(t.TempDir(), "map")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := NewReader(nil)
		r.most = int64(len(line) + len("3000 10 last\n") - skipped)
		m := r.Map(func() (io.ReadCloser, int64) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			return f, int64(len(text))
		}, true, nil)
		name, _, _, _ := m.Lookup(0x1000)
		last, _, _, _ := m.Lookup(0x3000)
		if want := map[bool]string{true: "name"}[skipped == 0]; name != want || last != "last" || len(m.entries) > 2 {
			t.Errorf("%d bytes skipped: %q, %q, %d lines", skipped, name, last, len(m.entries))
		}
	}
}
