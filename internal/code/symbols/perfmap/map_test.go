// SPDX-License-Identifier: Apache-2.0

package perfmap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func readMap(t testing.TB, text string) *Map {
	t.Helper()
	return readUpTo(t, text, maxBytes)
}

func readUpTo(t testing.TB, text string, limit int64) *Map {
	t.Helper()
	m := &Map{}
	if _, err := m.readFrom(strings.NewReader(text), limit); err != nil {
		t.Fatal(err)
	}
	m.index()
	return m
}

func TestPerfMapNamesAreKeptAsTheyAre(t *testing.T) {
	m := readMap(t, "7f0000001000 40 LazyCompile:~f file.js:1:2\r\n"+
		"0x7f0000002000 0x10 Lcom/foo/Bar;::method\n"+
		"7F0000003000 20  two  blanks inside\n")
	for addr, want := range map[uint64]string{
		0x7f0000001000: "LazyCompile:~f file.js:1:2",
		0x7f000000103f: "LazyCompile:~f file.js:1:2",
		0x7f0000001040: "",
		0x7f000000200f: "Lcom/foo/Bar;::method",
		0x7f0000003001: "two  blanks inside",
		0:              "",
		^uint64(0):     "",
	} {
		if got, _, _, _ := m.Lookup(addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
}

func TestPerfMapLaterLineWinsWhereAddressesAreReused(t *testing.T) {
	m := readMap(t, "1000 100 old\n1040 20 inside\n10f0 20 across\n1000 8 newest\n")
	for addr, want := range map[uint64]string{
		0x1000: "newest", 0x1007: "newest", 0x1008: "old", 0x1040: "inside",
		0x105f: "inside", 0x1060: "old", 0x10ef: "old", 0x10f0: "across", 0x110f: "across", 0x1110: "",
	} {
		if got, _, _, _ := m.Lookup(addr); got != want {
			t.Errorf("%#x: got %q, want %q", addr, got, want)
		}
	}
	if _, lo, hi, _ := m.Lookup(0x1060); lo != 0x1000 || hi != 0x1100 {
		t.Errorf("range of old: %#x to %#x", lo, hi)
	}
}

func TestPerfMapSkipsMalformedLines(t *testing.T) {
	for _, line := range []string{
		"garbage", "zz 10 name", "1000 zz name", "1000", "1000 10", "1000 10 ", "1000 0 empty",
		"ffffffffffffffff 10 overflow", "1000 ffffffffffffffff huge", "10000000000000000 10 long number",
		"1000 10name", "-1000 10 minus", "\x00\xff\xfe",
	} {
		m := readMap(t, line+"\n2000 10 good\n")
		if len(m.entries) != 1 {
			t.Errorf("%q: %d entries, want 1", line, len(m.entries))
		}
		if name, _, _, _ := m.Lookup(0x2000); name != "good" {
			t.Errorf("%q hides the line after it", line)
		}
	}
}

func TestPerfMapLeavesOutAnIncompleteLine(t *testing.T) {
	m := readMap(t, "1000 10 whole\n2000 10 hal")
	if len(m.entries) != 1 {
		t.Errorf("%d entries, want 1", len(m.entries))
	}
	if m = readMap(t, ""); len(m.entries) != 0 {
		t.Error("an empty map is not empty")
	}
}

func TestPerfMapStopsAtItsLimit(t *testing.T) {
	m := readUpTo(t, "1000 10 first\n2000 10 second\n", 20)
	if name, _, _, ok := m.Lookup(0x1000); !ok || name != "first" || len(m.entries) != 1 {
		t.Errorf("%d entries, at the first address %q; want 1, first", len(m.entries), name)
	}
}

// In the reference each line overwrites an array.
func TestPerfMapAgreesWithPaintingEachLine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var text strings.Builder
		var want [300]string
		for i := range 30 {
			start, size := r.IntN(200), 1+r.IntN(99)
			name := fmt.Sprintf("f%d", i)
			fmt.Fprintf(&text, "%x %x %s\n", start, size, name)
			for a := start; a < start+size; a++ {
				want[a] = name
			}
		}
		m := readMap(t, text.String())
		for a, w := range want {
			if got, _, _, _ := m.Lookup(uint64(a)); got != w {
				t.Fatalf("at %#x got %q, want %q in\n%s", a, got, w, text.String())
			}
		}
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("1000 10 a\n1008 10 b\n", uint64(0x1009))
	f.Add("ffffffffffffffff ffffffffffffffff x\r\n\n\n0 1 y", uint64(0))
	f.Add("JS:*f a.js:1:2\n7f00 1 JS:*f a.js:1:2\n", uint64(0x7f00))
	f.Fuzz(func(t *testing.T, text string, addr uint64) {
		m := readUpTo(t, text, 1<<16)
		for i := range m.entries {
			e := &m.entries[i]
			if name, lo, hi, ok := m.Lookup(e.start); !ok || name == "" || e.start < lo || e.start >= hi {
				t.Fatalf("an entry's own address is not found: %q %#x %#x %v", name, lo, hi, ok)
			}
		}
		_, lo, hi, ok := m.Lookup(addr)
		if ok && (addr < lo || addr >= hi) {
			t.Fatalf("%#x is not in %#x to %#x", addr, lo, hi)
		}
	})
}

func BenchmarkReadPerfMapMillion(b *testing.B) {
	var text strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "%x %x JS:*function%d /srv/app/lib/module.js:%d:7\n", 0x7f0000000000+(i*7919%1000000)*64, 60+i%16,
			i, i)
	}
	s := text.String()
	b.ReportAllocs()
	for b.Loop() {
		if m := readMap(b, s); len(m.entries) != 1_000_000 {
			b.Fatalf("%d entries", len(m.entries))
		}
	}
}

func TestLongLinesOfPerfMapsAreCut(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 300_000)
	text := "1000 10 " + string(long) + "\n2000 10 next\n"
	m := readMap(t, text)
	if name, _, _, _ := m.Lookup(0x1000); len(name) != maxName || len(m.entries) != 2 {
		t.Errorf("%d entries, a name of %d bytes", len(m.entries), len(name))
	}
}
