// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"bytes"
	"errors"
	"testing"
)

func TestWhatIsWrittenIsRead(t *testing.T) {
	var m Message
	m.Int(1, -1)
	m.Bool(2, true)
	m.Bool(3, false)
	m.Fixed(4, 5)
	m.Bytes(5, []byte("text"))
	m.Ints(6, []int64{1, 300})
	m.Ints(7, nil)
	m.Fixeds(8, []uint64{1, 2})
	var got []Field
	for rest := []byte(m); len(rest) > 0; {
		f, more, err := Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		got, rest = append(got, f), more
	}
	want := []Field{
		{Number: 1, Wire: Varint, Value: 1<<64 - 1}, {Number: 2, Wire: Varint, Value: 1}, {Number: 4, Wire: I64},
		{Number: 5, Wire: Bytes, Body: []byte("text")}, {Number: 6, Wire: Bytes, Body: []byte{1, 0xac, 2}},
		{Number: 8, Wire: Bytes, Body: []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0}},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, f := range got {
		w := want[i]
		if f.Number != w.Number || f.Wire != w.Wire || f.Value != w.Value || !bytes.Equal(f.Body, w.Body) {
			t.Errorf("%+v, want %+v", f, w)
		}
	}
}

func TestDamagedFieldsAreErrors(t *testing.T) {
	for text, want := range map[string]error{
		"\x80": ErrKey, "\xff\xff\xff\xff\xff\x01": ErrKey, "\x08": errNumber, "\x08\x80": errNumber, "\x0a\x80": errNumber,
		"\x0b\x01": errType, "\x0f\x01": errType, "\x0a\x02x": ErrCut, "\x09\x01": ErrCut, "\x0d\x01": ErrCut,
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x": ErrCut,
	} {
		if _, _, err := Next([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte("\x08\x01\x12\x02ab"))
	f.Fuzz(func(t *testing.T, m []byte) {
		for rest := m; len(rest) > 0; {
			f, more, err := Next(rest)
			if err != nil {
				return
			}
			if len(f.Raw) == 0 || len(f.Raw)+len(more) != len(rest) || len(f.Body) >= len(f.Raw) {
				t.Fatalf("%d bytes: field of %d with %d, rest of %d", len(rest), len(f.Raw), len(f.Body), len(more))
			}
			rest = more
		}
	})
}
