// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"strings"
	"testing"

	"prywalk/frames"
)

func TestSymbolsAreModifiedUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"main": "main", "größe": "größe", "\uFFFD": "\uFFFD", "\uFFFD\xed\xa0\xb5\xed\xb2\xb3": "\uFFFD𝒳",
		"\xed\xa0\xb5\xed\xb2\xb3()": "𝒳()", "ü\xed\xa0\xbd\xed\xb8\x80": "ü😀",
		"\xed\xa0\xb5": "", "\xed\xa0\xb5x": "", "\xed\xb2\xb3\xed\xa0\xb5": "", "\xed\xa0\xb5\xed\xb2": "", "\xff": "",
	} {
		got, ok := decodeModified([]byte(in))
		if string(got) != want || ok != (want != "") {
			t.Errorf("% x: %q, %v; want %q", in, got, ok, want)
		}
	}
}

// A supplementary character is two surrogates of three bytes each.
func TestMethodsWithSupplementaryCharactersHaveNames(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, _, item := cart(f, r)
		constants := f.word(f.word(item+8) + 8)
		f.put(constants+32+8*2, f.newSymbol("\xed\xa0\xb5\xed\xb2\xb3"))
		n := f.open(t).frameSource()
		begin(n, nil)
		want := strings.Replace(inItem, "item", "𝒳", 1)
		if got := said(n, frames.Frame{PC: code + 60, AfterCall: true}); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
