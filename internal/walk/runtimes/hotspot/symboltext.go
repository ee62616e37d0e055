// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// symbolBytes returns the text of the Symbol (modified UTF-8) at an address, valid until the next call.
func (n *methodNames) symbolBytes(symbol uint64) ([]byte, error) {
	l, m := n.vm.nameLayout, n.vm.memory()
	body := l.offset("Symbol::_body")
	symbol &^= 1
	fault := func(why string) ([]byte, error) { return nil, &pointerError{"Symbol", symbol, why} }
	if symbol == 0 || symbol%4 != 0 || body > 32 {
		return fault("the pointer to it is null or no multiple of 4")
	}
	b := n.symbol[:body+shortSymbol]
	got := max(m.from.Read(symbol, b), 0)
	if uint64(got) < body+1 {
		return fault(unreadable)
	}
	clear(b[got:])
	size := l.in(b, l.length)
	if l.length != wantLength[0][0] {
		size = size >> 16 & 0xffff
	}
	if size == 0 || size > maxSymbol {
		return fault("its length is none of a name")
	}
	if b = n.symbol[:body+size]; uint64(got) < body+size && !m.bytes(symbol, b) {
		return fault(unreadable)
	}
	b, ok := decodeModified(b[body:])
	if !ok || slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c == 0x7f }) {
		return fault("it is no printable text")
	}
	return b, nil
}

const shortSymbol = 120

// decodeModified changes modified UTF-8 to UTF-8, in place: each of two surrogates has three bytes.
func decodeModified(b []byte) (text []byte, ok bool) {
	if utf8.Valid(b) {
		return b, true
	}
	text = b[:0]
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			r, size = utf16.DecodeRune(surrogate(b), surrogate(b[min(3, len(b)):])), 6
			if r == utf8.RuneError {
				return nil, false
			}
		}
		text, b = utf8.AppendRune(text, r), b[size:]
	}
	return text, true
}

// surrogate returns the first of b, or 0.
func surrogate(b []byte) rune {
	if len(b) < 3 || b[0] != 0xed || b[1]&0xe0 != 0xa0 || b[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// readable changes b in place: dots between packages, without the varying suffixes of hidden classes.
func readable(class []byte) []byte {
	if i := bytes.LastIndexAny(class, "+/"); i > 0 && isHash(class[i+1:]) {
		class = class[:i]
	}
	if i := bytes.LastIndex(class, lambda); i >= 0 && isNumber(class[i+len(lambda):], "$") {
		class = class[:i+len(lambda)]
	}
	for i, c := range class {
		if c == '/' {
			class[i] = '.'
		}
	}
	return class
}

var lambda = []byte("$$Lambda")

func isHash(b []byte) bool {
	if rest, ok := bytes.CutPrefix(b, []byte("0x")); ok {
		return len(rest) != 0 && len(bytes.Trim(rest, "0123456789abcdef")) == 0
	}
	return isNumber(b, "")
}

func isNumber(b []byte, prefix string) bool {
	rest, ok := bytes.CutPrefix(b, []byte(prefix))
	return ok && len(rest) != 0 && len(bytes.Trim(rest, "0123456789")) == 0
}
