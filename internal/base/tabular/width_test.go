// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// As in wcwidth(3) and Unicode.
var widths = map[string]int{
	"":           0,
	"main":       4,
	"größe":      5,
	"gro\u0308":  3,
	"計算":         4,
	"処理する.go":    11,
	"ｆｕｌｌ":       8,
	"한국어":        6,
	"🚀launch":    8,
	"👩‍💻":        2,
	"│ ├ … ± →":  9,
	"a\u200bb":   2,
	"std::vec…":  9,
	"Ελληνικά()": 10,
}

func TestWideCharactersTakeTwoCells(t *testing.T) {
	for s, want := range widths {
		if got := Width(s); got != want {
			t.Errorf("%q: %d cells, not %d", s, got, want)
		}
	}
}

func TestColumnsOfWideNamesEndBelowEachOther(t *testing.T) {
	var texts []string
	for s := range widths {
		texts = append(texts, s)
		if got := Pad(s, 12); Width(got) != 12 {
			t.Errorf("%q has %d cells, not 12", got, Width(got))
		}
	}
	for _, s := range AlignRight(texts, 0) {
		if Width(s) != 11 {
			t.Errorf("%q has %d cells, not 11", s, Width(s))
		}
	}
	long := strings.Repeat("計算する", 10)
	for width := 1; width < 81; width++ {
		for _, got := range []string{Cut(long, width), Cut("x"+long, width)} {
			if n := Width(got); n > width || n < min(width, 80)-1 {
				t.Errorf("%q has %d cells, where %d are there", got, n, width)
			}
		}
		if got := Shorten("x"+long, width); width >= MinNameWidth && (Width(got) > width || Width(got) < width-2) {
			t.Errorf("%q has %d cells, where %d are there", got, Width(got), width)
		}
	}
	for line := range strings.Lines(string(Wrap(20, ", ", texts...))) {
		if Width(strings.TrimSpace(line)) > 20 {
			t.Errorf("%q is too wide", line)
		}
	}
}

func TestAShortenedNameIsCutWithOneEllipsis(t *testing.T) {
	for width, want := range map[int]string{4: "com…", 5: "com…", 6: "com…n…", 8: "com…name"} {
		if got := Cut("com…name", width); got != want {
			t.Errorf("%d cells: %q, want %q", width, got, want)
		}
	}
}

func FuzzCut(f *testing.F) {
	for s := range widths {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 1 + int(uint(width)%200)
		if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			return
		}
		for _, got := range []string{Cut(s, width), Shorten(s, max(width, MinNameWidth))} {
			if Width(got) > max(width, MinNameWidth) {
				t.Errorf("%q has %d cells, where %d are there", got, Width(got), width)
			}
		}
	})
}
