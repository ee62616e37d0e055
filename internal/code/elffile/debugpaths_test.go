// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"debug/elf"
	"errors"
	"hash/crc32"
	"slices"
	"testing"
)

func linked(t *testing.T, name string, crc uint32) *File {
	t.Helper()
	m := newImage()
	b := append([]byte(name), make([]byte, 4-len(name)%4)...)
	b = append(b, byte(crc), byte(crc>>8), byte(crc>>16), byte(crc>>24))
	m.add(Section{Name: ".gnu_debuglink", Type: elf.SHT_PROGBITS}, b)
	return openBytes(t, m.bytes())
}

func TestDebugPathsAreThoseOfGDB(t *testing.T) {
	f := linked(t, "prog.debug", 1)
	want := []string{"/usr/bin/prog.debug", "/usr/bin/.debug/prog.debug", "/usr/lib/debug/usr/bin/prog.debug",
		"/usr/lib/debug/bin/prog.debug"}
	if got := f.debugPaths("/usr/bin/prog"); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	if got := f.debugPaths("/usr/bin/prog.debug"); !slices.Equal(got, want[1:]) {
		t.Errorf("paths of the debug file itself %q, want all others", got)
	}
	for _, relative := range []string{"", "prog", "[vdso]"} {
		if got := f.debugPaths(relative); len(got) > 0 {
			t.Errorf("paths for the relative %q: %q, want none", relative, got)
		}
	}
	for id, want := range map[string]string{"": "", "ab": "", "abcd": "",
		"abcdef": "/usr/lib/debug/.build-id/ab/cdef.debug"} {
		if got := BuildIDPath(id); got != want {
			t.Errorf("build ID %q: path %q, want %q", id, got, want)
		}
	}
}

func TestDebugFileWithoutBuildIDIsCheckedByItsCRC(t *testing.T) {
	data := newImage().bytes()
	debug := openBytes(t, data)
	for _, c := range []struct {
		f    *File
		want error
	}{
		{linked(t, "d", crc32.ChecksumIEEE(data)), nil},
		{linked(t, "d", crc32.ChecksumIEEE(data)+1), errOtherBuild},
		{openBytes(t, newImage().bytes()), errOtherBuild},
	} {
		if err := c.f.checkDebug(debug, bytes.NewReader(data), int64(len(data))); !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
	}
}

func TestCompressedSectionBeyondTheLimitIsNotRead(t *testing.T) {
	m := newImage()
	m.add(Section{Name: ".debug_frame", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED},
		[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0x78, 0x9c}) // zlib, of 16 MiB
	f := openBytes(t, m.bytes())
	if _, err := f.WindowUpTo(f.DebugSection("frame"), 1<<20); !errors.Is(err, errTooBig) {
		t.Errorf("error %v, want %v", err, errTooBig)
	}
}
