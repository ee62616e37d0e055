// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// The code is that of Debian 13's libnode.so.115 (start) and of Debian 12's libnode.so.108 (started by a pointer), with
// other distances.
const (
	returnsAddress = "\x48\x8d\x05\x39\x00\x00\x00\xc3"
	returnsPointer = "\x48\x8d\x05\x39\x00\x00\x00\x48\x8b\x00\xc3"
	returnsNumber  = "\x48\x8d\x05\x39\x00\x00\x00\x8b\x00\xc3"
)

func withFunctions(code string) memory {
	m := memory{fakeAt, make([]byte, 0x100)}
	copy(m.b, code)
	copy(m.b[0x20:], returnsNumber)
	copy(m.b[0x40:], "\x00\x20\x30\x00\x00\x00\x00\x00")
	copy(m.b[0x60:], "\x00\x00\x02\x00\xff\xff\xff\xff")
	return m
}

func TestBuiltinsOfAStrippedLibraryAreWhatItsFunctionsReturn(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       managed.Span
	}{
		{"an address", returnsAddress, managed.Span{Start: fakeAt + 0x40, End: fakeAt + 0x20040}},
		{"a pointer", returnsPointer, managed.Span{Start: 0x302000, End: 0x322000}},
		{"with endbr64", "\xf3\x0f\x1e\xfa\x48\x8d\x05\x35\x00\x00\x00\x48\x8b\x00\xc3",
			managed.Span{Start: 0x302000, End: 0x322000}},
		{"another register", "\x48\x8d\x0d\x39\x00\x00\x00\xc3", managed.Span{}},
		{"more than that", "\x48\x8d\x05\x39\x00\x00\x00\x90\xc3", managed.Span{}},
		{"a pointer that is not there", "\x48\x8d\x05\x39\x00\x00\x01\x48\x8b\x00\xc3", managed.Span{}},
	} {
		if got := exportedCode(withFunctions(c.code).Read, fakeAt, fakeAt+0x20); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	m := withFunctions(returnsAddress)
	copy(m.b[0x60:], "\xff\xff\xff\x7f")
	if got := exportedCode(m.Read, fakeAt, fakeAt+0x20); got != (managed.Span{}) {
		t.Errorf("two gigabytes of builtins: %#x", got)
	}
}

// The copy of libnode's builtins is at a lower address than the library.
func TestACopyOfTheBuiltinsIsNotTheLibrary(t *testing.T) {
	h := withSymbols(nil)
	h.symbols = append(h.symbols, managed.Symbol{Name: funCode, Addr: fakeAt})
	if d, err := describe(h, &frames.Module{Start: fakeAt - 0x2000, End: fakeAt}); d != nil || err != nil {
		t.Errorf("the copy: %+v, %v", d, err)
	}
	if d, err := describe(h, &frames.Module{Start: fakeAt, End: fakeAt + 1}); d == nil || err != nil {
		t.Errorf("the library: %+v, %v", d, err)
	}
}

func FuzzReturned(f *testing.F) {
	f.Add([]byte(returnsAddress))
	f.Add([]byte(returnsPointer))
	f.Fuzz(func(t *testing.T, code []byte) {
		m := memory{fakeAt, code}
		if code := exportedCode(m.Read, fakeAt, fakeAt+8); code.End < code.Start || code.End-code.Start > maxBuiltins {
			t.Errorf("builtins %#x", code)
		}
		if v := returned(m.Read, fakeAt); v != 0 && !bytes.Contains(code, []byte{0xc3}) {
			t.Errorf("%#x without a return", v)
		}
	})
}
