// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"
	"testing"
)

func TestLinesEndWhereV8EndsThem(t *testing.T) {
	m := &stringMemory{b: make([]byte, 0x2000), maps: map[uint16]int{}, next: 0x40}
	put(m.b, 0, pointer(0))
	binary.LittleEndian.PutUint16(m.b[instanceType:], fakeMap)
	for what, c := range map[string]struct {
		source uint64
		ends   []int32
	}{
		"one line":            {m.narrow(oneByteString, "abc"), []int32{3}},
		"empty":               {m.narrow(oneByteString, ""), []int32{0}},
		"line feeds":          {m.narrow(oneByteString, "ab\n\nc\n"), []int32{2, 3, 5, 6}},
		"carriage returns":    {m.narrow(oneByteString, "ab\rc\r"), []int32{2, 4, 5}},
		"both":                {m.narrow(oneByteString, "ab\r\nc\r\n"), []int32{3, 6, 7}},
		"other controls":      {m.narrow(oneByteString, "a\t\v\f\x1fb"), []int32{6}},
		"separators of lines": {m.wide("λ\u2028λ\u2029λ\u2027\u202a"), []int32{1, 3, 7}},
		"of two bytes":        {m.wide("λ\r\nλ\n"), []int32{2, 4, 5}},
		"no string":           {pointer(0), nil},
	} {
		script := m.take(0x80)
		r := fakeRuntime(version{14, 6}, m.b)
		put(m.b, script+int(r.heap.build.scriptSource), c.source)
		if got := r.functions.sourceEnds(pointer(script)); !slices.Equal(got, c.ends) {
			t.Errorf("%s: %v, want %v", what, got, c.ends)
		}
	}
}

func TestPlacesHaveTheLineOfTheScript(t *testing.T) {
	s := &script{ends: []int32{2, 3, 9}, firstLine: 10}
	for offset, want := range map[int]int{-1: 0, 0: 11, 2: 11, 3: 12, 4: 13, 9: 13, 10: 0} {
		if got := (&functions{}).line(s, 0, offset); got != want {
			t.Errorf("%d: line %d, want %d", offset, got, want)
		}
	}
}

func TestScriptsAreNamedByPath(t *testing.T) {
	for name, want := range map[string]string{"file:///srv/a%20b.mjs": "/srv/a b.mjs", "/srv/app.js": "/srv/app.js",
		"file:///srv/%zz": "/srv/%zz", "node:fs": "node:fs", "https://host/a%20b": "https://host/a%20b"} {
		if got := fileName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
