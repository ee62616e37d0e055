// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestStringShowsWhatCannotBeShown(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain ~text":                    "plain ~text",
		"std::vector<größe>::λ 世界":       "std::vector<größe>::λ 世界",
		"\x1b]0;owned\x07":               `\x1b]0;owned\a`,
		"two\nlines\r\t\x00\x7f":         `two\nlines\r\t\x00\x7f`,
		"c1 \u009b31m":                   `c1 \u009b31m`,
		"admin\u202egnp.exe":             `admin\u202egnp.exe`,
		"\u2066\u2069\u200f\u061c\ufeff": `\u2066\u2069\u200f\u061c\ufeff`,
		"\u2028\u2029\u00ad\u00a0":       `\u2028\u2029\u00ad\u00a0`,
		"tag\U000e0041":                  `tag\U000e0041`,
		"bad\xff\xc3utf":                 `bad\xff\xc3utf`,
		"half\xe2\x80":                   `half\xe2\x80`,
		"\x9b\x90":                       `\x9b\x90`,
		"real \ufffd":                    "real \ufffd",
		`back\slash`:                     `back\slash`,
	} {
		if got := String(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
		if twice := String(String(in)); twice != String(in) {
			t.Errorf("%q: twice %q", in, twice)
		}
	}
}

func TestSprintfLetsOwnColoursPassAndNothingElse(t *testing.T) {
	got := Sprintf("%s%-4s%v %d\n", Raw("\x1b[1m"), "\x1b", errors.Join(errors.New("a\x1b"), errors.New("b")), 7)
	if want := "\x1b[1m\\x1ba\\x1b b 7\n"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func disturbs(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

func FuzzString(f *testing.F) {
	f.Add("\x1b]0;x\x07\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		if u := UTF8(s); !utf8.ValidString(u) || utf8.ValidString(s) && u != s || String(u) != String(s) {
			t.Errorf("%q as UTF-8 is %q", s, u)
		}
		out := String(s)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, disturbs) || String(out) != out {
			t.Errorf("%q gives %q", s, out)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(JSON(text), &after) != nil || before != after {
			t.Errorf("%q: %q became %q", text, before, after)
		}
		if strings.ContainsFunc(string(JSON(text)), disturbs) {
			t.Errorf("%q", JSON(text))
		}
	})
}
