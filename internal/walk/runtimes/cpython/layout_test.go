// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func debugOffsets(t testing.TB, minor string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/debugoffsets-3." + minor)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestInterpretersDescribeThemselves(t *testing.T) {
	for minor, want := range map[string]layout{
		"13": {minor: 13, threadNext: 8, threadInterp: 16, threadFrame: 72, threadID: 152, threadNative: 160,
			threadChunk: 232, threadTop: 240, threadSize: 256, frameOwner: 70, codeBytecode: 200, dictBefore: 24},
		"13t": {minor: 13, threadNext: 8, threadInterp: 16, threadFrame: 72, threadID: 152, threadNative: 160,
			threadChunk: 232, threadTop: 240, threadSize: 256, frameOwner: 70, codeBytecode: 216, headExtra: 16, dictBefore: 8},
		"14": {minor: 14, threadNext: 8, threadInterp: 16, threadFrame: 72, threadID: 152, threadNative: 160,
			threadChunk: 232, threadTop: 240, threadSize: 256, frameOwner: 74, codeBytecode: 208,
			interpThreads: 7344, interpModules: 7688, dictBefore: 24},
		"14t": {minor: 14, threadNext: 8, threadInterp: 16, threadFrame: 72, threadID: 152, threadNative: 160,
			threadChunk: 232, threadTop: 240, threadSize: 256, frameOwner: 78, codeBytecode: 232, headExtra: 16, dictBefore: 8,
			frameCopy: 72, codeCopies: 224},
		"15": {minor: 15, threadNext: 8, threadInterp: 16, threadFrame: 72, threadID: 176, threadNative: 184,
			threadChunk: 256, threadTop: 264, threadSize: 968, frameOwner: 74, codeBytecode: 208,
			interpThreads: 7336, interpModules: 7592, dictBefore: 24},
	} {
		l, ok := layoutOfDebugOffsets(debugOffsets(t, minor))
		if !ok {
			t.Errorf("3.%s is not known", minor)
			continue
		}
		got := layout{minor: l.minor, threadNext: l.threadNext, threadInterp: l.threadInterp, threadFrame: l.threadFrame,
			threadID: l.threadID, threadNative: l.threadNative, threadChunk: l.threadChunk, threadTop: l.threadTop,
			threadSize: l.threadSize, frameOwner: l.frameOwner, codeBytecode: l.codeBytecode,
			headExtra: l.headExtra, dictBefore: l.dictBefore, frameCopy: l.frameCopy, codeCopies: l.codeCopies}
		if want.interpThreads != 0 {
			got.interpThreads, got.interpModules = l.interpThreads, l.interpModules
		}
		if got != want {
			t.Errorf("3.%s: %+v\nwant %+v", minor, got, want)
		}
	}
}

func TestUnknownInterpreterIsRefused(t *testing.T) {
	for _, minor := range []string{"13", "14", "15"} {
		b := debugOffsets(t, minor)
		change := func(off int, v uint64) []byte {
			c := append([]byte(nil), b...)
			binary.LittleEndian.PutUint64(c[off:], v)
			return c
		}
		for what, c := range map[string][]byte{
			"of the future":      change(debugVersion, 0x03100000),
			"of Python 4":        change(debugVersion, 0x040e0000),
			"free-threaded":      change(debugFreeThreaded, 1),
			"without the cookie": change(0, 0),
			"cut":                b[:len(b)-1],
			"empty":              nil,
			"huge":               change(72, 1<<40), // list of threads
			"negative":           change(72, 1<<63),
		} {
			if _, ok := layoutOfDebugOffsets(c); ok && (what != "free-threaded" || minor == "15") {
				t.Errorf("3.%s %s is taken for one that is known", minor, what)
			}
		}
	}
}

func TestOffsetsOutsideOfACopyAreRefused(t *testing.T) {
	for minor, d := range debugTables {
		b := debugOffsets(t, strconv.Itoa(minor))
		l, _ := layoutOfDebugOffsets(b)
		for what, off := range map[string]int{"next": d.thread + 16, "interp": d.thread + 24, "current_frame": d.thread + 32,
			"thread_id": d.ids, "native_thread_id": d.ids + 8} {
			c := slices.Clone(b)
			binary.LittleEndian.PutUint64(c[off:], uint64(l.threadSize)-7)
			if _, ok := layoutOfDebugOffsets(c); ok {
				t.Errorf("3.%d: %s beyond the thread state is accepted", minor, what)
			}
		}
		for _, head := range []uint64{64, 1<<63 - 1, 1<<63 - 16, 1 << 63} {
			c := slices.Clone(b)
			binary.LittleEndian.PutUint64(c[d.text+24:], head)
			if _, ok := layoutOfDebugOffsets(c); ok {
				t.Errorf("3.%d: a string's head of %d bytes is accepted", minor, head)
			}
		}
	}
}

var comparesMinor = regexp.MustCompile(`\b[mM]inor\)? (<=?|>=?|==|!=) |switch \S*minor\b|\w+\[\w+\.minor\]`)

func TestDocListsTheFilesThatDifferByRelease(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	files, _ := filepath.Glob("*.go")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") && comparesMinor.Match(b) {
			want = append(want, name)
		}
	}
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^//\t(\w+\.go) `).FindAllSubmatch(doc, -1) {
		got = append(got, string(row[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("doc.go lists %q, the number decides in %q", got, want)
	}
}

func TestUnknownFreeThreadedBuildIsNamedInTheError(t *testing.T) {
	b := append(debugOffsets(t, "15"), make([]byte, 4096)...)
	binary.LittleEndian.PutUint64(b[debugFreeThreaded:], 1)
	r, err := Detect(&image{at: 1 << 32, bytes: b[:len(b)/3*3]})
	if r != nil || err == nil || !strings.Contains(err.Error(), "the free-threaded build of CPython 3.15.") {
		t.Errorf("%v, %v", r, err)
	}
}

func TestLargestTableOfDebugOffsetsFits(t *testing.T) {
	largest := 0
	for _, d := range debugTables {
		largest = max(largest, d.size)
	}
	if largest != maxDebug {
		t.Errorf("the largest table has %d bytes, want maxDebug, %d", largest, maxDebug)
	}
}

func TestUnknownReleaseIsNamedBesideTheKnown(t *testing.T) {
	for hex, version := range map[uint32]string{0x03070bf0: "3.7.11", 0x031000f0: "3.16.0", 0x040c00f0: "4.12.0"} {
		m := &image{1 << 32, make([]byte, 1<<12-1)} // by its length with a version
		binary.LittleEndian.PutUint32(m.bytes[8:], hex)
		in := &interpreter{host: m, module: libpython[0], at: m.at}
		want := "CPython " + version + " is not known (3.8 to 3.15 are)"
		if err := in.findLayout(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestThreadsOfFreeThreadedBuildsRunCopiesOfTheBytecode(t *testing.T) {
	const frame, code, copies, own, of2 = 0x100, 0x200, 0x800, 0x2e8, 0x5000
	l, _ := layoutOfDebugOffsets(debugOffsets(t, "14t"))
	words := map[uint64]uint64{uint64(code + l.codeCopies): copies,
		copies: 3, copies + 8: own, copies + 24: of2, copies + 32: of2}
	in := &interpreter{layout: l}
	for _, c := range []struct {
		number, instr uint64
		want          int
	}{
		{0, own + 6, 6},
		{2, of2 + 6, 6},
		{1, of2 + 6, offsetUnknown}, // no copy
		{2, of2 - 2, offsetUnknown}, // of another copy
		{2, 1 << 40, offsetUnknown},
		{3, of2 + 6, offsetUnknown}, // beyond the array
		{1<<32 - 1, of2, offsetUnknown},
	} {
		words[uint64(frame+l.frameCopy)] = 78<<48 | c.number
		f := in.frame(frame, code|1, c.instr, func(at uint64) (uint64, bool) { v, ok := words[at]; return v, ok })
		if f.code != code || f.offset != c.want {
			t.Errorf("copy %d: offset %d, want %d", c.number, f.offset, c.want)
		}
	}
	table := []byte{1<<7 | 13<<3 | 7, 2}
	if lineOf(14, table, 10, 6) != 11 || lineOf(14, table, 10, offsetUnknown) != 0 {
		t.Error("an unknown instruction has a line")
	}
	if f := in.frame(frame, code, of2, func(uint64) (uint64, bool) { return 0, false }); f.offset != offsetUnknown {
		t.Errorf("an unreadable frame: offset %d", f.offset)
	}
}

func TestStringsAreReadInAllBuilds(t *testing.T) {
	const usual = 1<<2 | 3<<5
	for build, state := range map[string]uint32{"13": usual, "13t": usual, "14": usual, "14t": 3 | 1<<8 | 3<<11} {
		l, _ := layoutOfDebugOffsets(debugOffsets(t, build))
		m := &image{1 << 32, make([]byte, 256)}
		binary.LittleEndian.PutUint64(m.bytes[textLength+l.headExtra:], 3)
		binary.LittleEndian.PutUint32(m.bytes[textState+l.headExtra:], state)
		copy(m.bytes[l.textASCII:], "abc")
		if text, ok := (&interpreter{layout: l}).textOf(m, m.at); !ok || text != "abc" {
			t.Errorf("3.%s: %q, %v", build, text, ok)
		}
	}
}
