// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"prywalk/internal/testtargets"
)

// fileInMemory has one mapping: a file's bytes from mappedFrom on, with zeros up to a page.
type fileInMemory struct {
	AddressSpace
	m     RawMapping
	bytes []byte
}

const mappedFrom = 0x1000

func mapped(file []byte) *fileInMemory {
	f := &fileInMemory{bytes: append(slices.Clone(file), make([]byte, -len(file)&0xfff)...)}
	const start = 0x400000
	f.m.MapsLine = MapsLine{
		Start: start, End: start + uint64(len(f.bytes)) - mappedFrom, Offset: mappedFrom, Perm: PermRead,
	}
	return f
}

func (f *fileInMemory) MappingsOf(_ *Mapping, yield func(*RawMapping)) error {
	yield(&RawMapping{MapsLine: MapsLine{Start: f.m.Start - mappedFrom, End: f.m.Start, Perm: PermRead}})
	yield(&f.m)
	return nil
}

func (f *fileInMemory) ReadMapped(addr uint64, b []byte) (int, error) {
	return copy(b, f.bytes[addr-f.m.Start+mappedFrom:]), nil
}

func (f *fileInMemory) mapping() *Mapping { return &Mapping{MapsLine: f.m.MapsLine} }

func TestOneOtherByteMakesAFileWithoutBuildIDAnother(t *testing.T) {
	file := make([]byte, 3<<20+100)
	for i := range file {
		file[i] = byte(i>>8 ^ i)
	}
	space := mapped(file)
	same := func(f []byte) bool { return SameContents(space, bytes.NewReader(f), int64(len(f)), space.mapping()) }
	if !same(file) {
		t.Error("the file itself is another")
	}
	for _, at := range []int{0, mappedFrom, mappedFrom + 1024, 1 << 20, 2<<20 + 5, len(file) - 1} {
		other := slices.Clone(file)
		if other[at]++; same(other) {
			t.Errorf("the file with another byte at %#x is the same", at)
		}
	}
	if same(file[:1<<20]) {
		t.Error("the file's first MiB is the same")
	}
}

// A debugger or the kernel writes them to the memory.
func TestBreakpointsInAFileWithoutBuildIDMakeNoOther(t *testing.T) {
	file := make([]byte, 1<<20)
	for _, c := range []struct {
		at    int
		bytes []byte
		same  bool
	}{
		{mappedFrom, []byte{0xcc}, true}, {1 << 19, []byte{0xcc}, true}, {1<<19 + 3, []byte{0xcb}, false},
		{mappedFrom + 8, []byte{0xa0, 0x00, 0x20, 0xd4}, true}, // brk #5
		{mappedFrom + 9, []byte{0xa0, 0x00, 0x20, 0xd4}, false},
	} {
		space := mapped(file)
		copy(space.bytes[c.at:], c.bytes)
		if got := SameContents(space, bytes.NewReader(file), int64(len(file)), space.mapping()); got != c.same {
			t.Errorf("% x at %#x: same %v, want %v", c.bytes, c.at, got, c.same)
		}
	}
}

func TestFileWithTheMappedBuildIDIsTheSame(t *testing.T) {
	file, err := os.ReadFile(copyProgram(t, "sleep"))
	if err != nil {
		t.Fatal(err)
	}
	id := buildIDOf(bytes.NewReader(file), int64(len(file)))
	testtargets.Need(t, id != "", "a build ID of sleep", "another build of coreutils")
	for _, at := range []int{mappedFrom, mappedFrom + 1024, len(file) - 1} {
		space := mapped(file)
		space.bytes[at] ^= 0xff
		if !SameContents(space, bytes.NewReader(file), int64(len(file)), space.mapping()) {
			t.Errorf("with another byte at %#x, as of a relocation, the file with the mapped build id is another", at)
		}
	}
}
