// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// stringMemory makes strings of all forms.
type stringMemory struct {
	b    []byte
	maps map[uint16]int // by type
	next int
}

func (m *stringMemory) take(size int) int {
	at := m.next
	m.next += (size + 7) &^ 7
	return at
}

func (m *stringMemory) mapOf(typ uint16) int {
	if m.maps[typ] == 0 {
		at := m.take(16)
		put(m.b, at, pointer(0))
		binary.LittleEndian.PutUint16(m.b[at+instanceType:], typ)
		m.maps[typ] = at
	}
	return m.maps[typ]
}

func (m *stringMemory) object(typ uint16, length int, words ...uint64) uint64 {
	at := m.take(16 + 8*len(words))
	put(m.b, at, pointer(m.mapOf(typ)))
	binary.LittleEndian.PutUint32(m.b[at+stringLength:], uint32(int32(length)))
	for i, w := range words {
		put(m.b, at+stringData+8*i, w)
	}
	return pointer(at)
}

func (m *stringMemory) narrow(typ uint16, text string) uint64 {
	at := m.take(16 + len(text))
	put(m.b, at, pointer(m.mapOf(typ)))
	binary.LittleEndian.PutUint32(m.b[at+stringLength:], uint32(len(text)))
	copy(m.b[at+stringData:], text)
	return pointer(at)
}

func (m *stringMemory) wide(text string) uint64 {
	units := utf16.Encode([]rune(text))
	at := m.take(16 + 2*len(units))
	put(m.b, at, pointer(m.mapOf(seqString)))
	binary.LittleEndian.PutUint32(m.b[at+stringLength:], uint32(len(units)))
	for i, u := range units {
		binary.LittleEndian.PutUint16(m.b[at+stringData+2*i:], u)
	}
	return pointer(at)
}

func (m *stringMemory) raw(text string) uint64 {
	at := m.take(len(text))
	copy(m.b[at:], text)
	return fakeAt + uint64(at)
}

func TestStringsOfEachFormAreRead(t *testing.T) {
	const invalid = "\x00"
	m := &stringMemory{b: make([]byte, 0x4000), maps: map[uint16]int{}, next: 0x40}
	put(m.b, 0, pointer(0))
	binary.LittleEndian.PutUint16(m.b[instanceType:], fakeMap)
	const one = oneByteString
	name := strings.Repeat("x", maxName)
	abc, greek, empty := m.narrow(one, "abc"), m.wide("λω"), m.narrow(one, "")
	both := m.object(consString, 5, abc, greek)
	itself := m.take(32)
	put(m.b, itself, pointer(m.mapOf(thinString|one)))
	binary.LittleEndian.PutUint32(m.b[itself+stringLength:], 3)
	put(m.b, itself+stringData, pointer(itself))
	moved := m.take(16)
	put(m.b, moved, abc-heapObjectTag)
	many := empty
	for range 13 {
		many = m.object(consString|one, 5, many, many)
	}
	cut := len(m.b) - 24
	put(m.b, cut, pointer(m.mapOf(one)))
	binary.LittleEndian.PutUint32(m.b[cut+stringLength:], 9)
	for what, c := range map[string]struct {
		word        uint64
		v14, before string // as V8 14 and V8 9 read it
	}{
		"one byte":              {abc, "abc", "abc"},
		"Latin-1":               {m.narrow(one, "\xe9\xff"), "éÿ", "éÿ"},
		"two bytes":             {greek, "λω", "λω"},
		"a pair of surrogates":  {m.wide("𝄞"), "𝄞", "𝄞"},
		"empty":                 {empty, "", ""},
		"joined":                {m.object(consString|one, 6, abc, abc), "abcabc", "abcabc"},
		"joined of both widths": {both, "abcλω", "abcλω"},
		"joined to nothing":     {m.object(consString|one, 2, empty, greek), "λω", "λω"},
		"joined with nothing":   {m.object(consString|one, 3, abc, empty), "abc", "abc"},
		"only as long as it is": {m.object(consString|one, 4, abc, abc), "abca", "abca"},
		"thin":                  {m.object(thinString|one, 3, abc, 0), "abc", "abc"},
		"sliced":                {m.object(slicedString|one, 2, abc, 1<<32), "bc", "bc"},
		"sliced, two bytes":     {m.object(slicedString, 1, greek, 1<<32), "ω", "ω"},
		"sliced beyond its end": {m.object(slicedString|one, 2, abc, 4<<32), invalid, invalid},
		"sliced before it":      {m.object(slicedString|one, 2, abc, 0xffffffff<<32), invalid, invalid},
		"external":              {m.object(externalString|one, 4, 0, m.raw("else")), "else", "else"},
		"external, not cached":  {m.object(externalString|one|uncachedExternal, 4, 0, m.raw("else")), invalid, invalid},
		"moved":                 {pointer(moved), "abc", "abc"},
		"longer than a name":    {m.narrow(one, name+"x"), name, name},
		"of a negative length":  {m.object(one, -1, 0), invalid, invalid},
		"not internalized":      {m.narrow(firstNonstring/2|one, "abc"), "abc", invalid},
		"no string":             {m.narrow(firstNonstring|one, "abc"), invalid, invalid},
		"no object":             {7 << 32, invalid, invalid},
		"outside of memory":     {pointer(len(m.b)), invalid, invalid},
		"cut":                   {pointer(cut), invalid, invalid},
		"thin of itself":        {pointer(itself), invalid, invalid},
		"of too many parts":     {many, invalid, invalid},
	} {
		for v, want := range map[version]string{{14, 6}: c.v14, {9, 4}: c.before} {
			got, ok := fakeRuntime(v, m.b).heap.text(c.word)
			if ok != (want != invalid) || ok && got != want {
				t.Errorf("%s, in V8 %d: %.20q, %t; want %.20q", what, v.major, got, ok, want)
			}
		}
	}
	r := fakeRuntime(version{14, 6}, m.b)
	flat := m.object(consString|one, 3, abc, empty)
	for from, want := range map[int]string{0: "ab", 1: "bc", 2: "c", 3: ""} {
		if got, wide, ok := r.heap.characters(flat, from, 2); string(got) != want || wide || !ok {
			t.Errorf("two characters from %d on: %q, wide %t, %t; want %q", from, got, wide, ok, want)
		}
	}
	for word, want := range map[uint64]string{abc: "abc", empty: anonymous, pointer(cut): anonymous, 7 << 32: anonymous,
		m.narrow(firstNonstring|one, "abc"): anonymous} {
		var f function
		if r.functions.readName(&f, word); f.naming.name != want || f.naming.begin != -1 {
			t.Errorf("a function with the name %#x: %q, begins at %d; want %s, and an unknown begin", word, f.naming.name,
				f.naming.begin,
				want)
		}
	}
	if got, wide, ok := r.heap.characters(greek, 1, 2); string(got) != "\xc9\x03" || !wide || !ok {
		t.Errorf("the second character of two bytes: %q, wide %t, %t", got, wide, ok)
	}
}
