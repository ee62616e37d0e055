// SPDX-License-Identifier: Apache-2.0

package threadcontext

import (
	"encoding/binary"
	"maps"
	"slices"
	"testing"

	"prywalk/frames"
)

const (
	pointer  = 0x10000
	recordAt = 0x20002 // aligned to two bytes only
)

// thread has a record with attributes, at the variable 8 bytes below the thread pointer.
func thread(valid byte, size int, attributes ...byte) *frames.Snapshot {
	record := append(make([]byte, recordHead), attributes...)
	record[15], record[23], record[validAt] = 0xab, 0xcd, valid
	binary.LittleEndian.PutUint16(record[sizeAt:], uint16(size))
	return &frames.Snapshot{Others: []frames.Region{
		{Addr: pointer - 8, Bytes: binary.LittleEndian.AppendUint64(nil, recordAt)},
		{Addr: recordAt, Bytes: record},
	}}
}

func TestRecordsAreReadAsTheirFormatSays(t *testing.T) {
	ids := func(more map[string]string) map[string]string {
		all := map[string]string{labelTrace: "000000000000000000000000000000ab", labelSpan: "00000000000000cd"}
		maps.Copy(all, more)
		return all
	}
	for _, c := range []struct {
		name string
		mem  *frames.Snapshot
		want map[string]string
	}{
		{"no attributes", thread(1, 0), ids(nil)},
		{"not valid", thread(0, 0), nil},
		{"reserved", thread(2, 0), nil},
		{"one", thread(1, 4, 1, 2, 'h', 'i'), ids(map[string]string{"b": "hi"})},
		{"the last of a key", thread(1, 7, 1, 2, 'h', 'i', 1, 1, 'x'), ids(map[string]string{"b": "x"})},
		{"a cut one", thread(1, 7, 1, 2, 'h', 'i', 0, 9, 'x'), ids(map[string]string{"b": "hi"})},
		{"an unknown key", thread(1, 6, 9, 1, 'x', 0, 1, 'y'), ids(map[string]string{"a": "y"})},
		{"not UTF-8", thread(1, 3, 0, 1, 0xff), ids(map[string]string{"a": "\uFFFD"})},
		{"empty", thread(1, 2, 0, 0), ids(map[string]string{"a": ""})},
		{"beyond the copy", thread(1, 600, 0, 1, 'x'), ids(nil)},
		{"a key of a label", thread(1, 3, 2, 1, 'x'), ids(nil)},
		{"no variable", &frames.Snapshot{}, nil},
		{"no record", &frames.Snapshot{Others: thread(1, 0).Others[:1]}, nil},
	} {
		r := &Runtime{keys: []string{"a", "b", labelTrace}, variable: variable{offset: -8}, host: noContext{}}
		if got := r.Context(1, &frames.Regs{TLS: pointer}, c.mem); !maps.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// noContext is a process without an own context.
type noContext struct{ image }

func (noContext) NamedMapping(...string) (start, end uint64, ok bool) { return 0, 0, false }

func bytesField(key byte, content ...byte) []byte {
	return append([]byte{key<<3 | 2, byte(len(content))}, content...)
}

func TestKeysAreTheNamesInTheProcessContext(t *testing.T) {
	list := slices.Concat(bytesField(1, bytesField(1, 'a')...), bytesField(1, bytesField(1, 'b')...))
	pair := slices.Concat(bytesField(1, []byte(keyMap)...), bytesField(2, bytesField(5, list...)...))
	other := slices.Concat(bytesField(1, 'x'), bytesField(2, bytesField(1, 'y')...))
	resource := slices.Concat(bytesField(1, other...), bytesField(1, pair...))
	for _, c := range []struct {
		name    string
		payload []byte
	}{{"resource", resource}, {"process context", bytesField(1, resource...)}} {
		if got := parseKeys(c.payload); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%s: keys %q, want a and b", c.name, got)
		}
	}
	if got := parseKeys(resource[:len(resource)-1]); len(got) > 1 {
		t.Errorf("cut: keys %q", got)
	}
}
