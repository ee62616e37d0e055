// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"prywalk/frames"
)

// Recordings keep mappings, but no code of processes that have ended, which modules lead to.
func TestAMappingLeadsToNoModule(t *testing.T) {
	for field := range reflect.TypeFor[Mapping]().Fields() {
		if field.Type == reflect.TypeFor[*frames.Module]() || field.Type == reflect.TypeFor[*Process]() {
			t.Errorf("%s leads to a process's code", field.Name)
		}
	}
}

const sampleMaps = `55bfe1f80000-55bfe1f82000 r--p 00000000 fe:00 247026                     /usr/bin/cat
55bfe1f82000-55bfe1f87000 r-xp 00002000 fe:00 247026                     /usr/bin/cat
55bfedad3000-55bfedaf4000 rw-p 00000000 00:00 0                          [heap]
7f993bc9d000-7f993bcbf000 rw-p 00000000 00:00 0 
7f993bcbf000-7f993bd16000 rwxs 00001000 103:0b 316526                    /tmp/a b\012c (deleted)
7f993bd16000-7f993bd17000 ---p 00000000 00:00 0                          [anon:v8 code]
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
`

// parseMaps parses the text of a /proc/PID/maps file.
func parseMaps(text []byte) ([]MapsLine, error) {
	var out []MapsLine
	err := eachMapping(text, func(m *RawMapping) {
		m.Path, m.Deleted = m.name()
		out = append(out, m.MapsLine)
	})
	return out, err
}

func TestMapsLinesAreParsedByField(t *testing.T) {
	got, err := parseMaps([]byte(sampleMaps))
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]MapsLine{
		1: {Start: 0x55bfe1f82000, End: 0x55bfe1f87000, Offset: 0x2000, Dev: 0xfe << 32, Inode: 247026,
			Perm: PermRead | PermExec, Path: "/usr/bin/cat"},
		3: {Start: 0x7f993bc9d000, End: 0x7f993bcbf000, Perm: PermRead | PermWrite},
		4: {Start: 0x7f993bcbf000, End: 0x7f993bd16000, Offset: 0x1000, Dev: 0x103<<32 | 0xb, Inode: 316526,
			Perm: PermRead | PermWrite | PermExec | permShared, Path: "/tmp/a b\nc", Deleted: true},
		5: {Start: 0x7f993bd16000, End: 0x7f993bd17000, Path: "[anon:v8 code]"},
		7: {Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: PermExec, Path: "[vsyscall]"},
	}
	if len(got) != 8 {
		t.Fatalf("%d mappings, want 8", len(got))
	}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("line %d: %+v, want %+v", i+1, got[i], w)
		}
	}
}

func TestMapsOfThisProcessParse(t *testing.T) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseMaps(text)
	if err != nil || len(got) != strings.Count(string(text), "\n") {
		t.Fatalf("%d mappings, error %v", len(got), err)
	}
}

func TestMalformedMapsAreRefused(t *testing.T) {
	for _, line := range []string{
		"x", "1-2", "2-1 r-xp 0 0:0 0", "1-2 r-xq 0 0:0 0", "1-2 rwx 0 0:0 0", "1-2 r-xp 0 0:0", "1-2 r-xp 0 0:0 ",
		"11111111111111111-2 r-xp 0 0:0 0", "-2 r-xp 0 0:0 0", "1-2 r-xp 0 00 0", "1-2 r-xp 0 0:0 0x", "\n",
	} {
		if _, err := parseMaps([]byte(line)); !errors.Is(err, errMaps) {
			t.Errorf("%q: error %v, want %v", line, err, errMaps)
		}
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add([]byte(sampleMaps))
	f.Add([]byte("1-2 r-xp 0 0:0 0"))
	f.Add([]byte("ffffffffffffffff-0 rwxp ffffffffffffffff ffff:ffff 99999999999999999999 /x (deleted)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseMaps(text)
		if err == nil && len(got) > strings.Count(string(text), "\n")+1 {
			t.Fatalf("%d mappings from %q, more than lines", len(got), text)
		}
		for _, m := range got {
			if m.Start >= m.End {
				t.Fatalf("empty mapping %+v", m)
			}
		}
	})
}

func BenchmarkMapsOf60000Lines(b *testing.B) {
	var sb strings.Builder
	for i := range 60000 {
		fmt.Fprintf(&sb, "%x-%x rw-p 00000000 00:00 0                          [anon:heap]\n", (i+1)<<16, (i+1)<<16+4096)
	}
	text := []byte(sb.String())
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := eachMapping(text, func(*RawMapping) { n++ }); err != nil || n != 60000 {
			b.Fatal(n, err)
		}
	}
}
