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

func TestASourceFileHasItsOwnNameAndItsPackage(t *testing.T) {
	for file, want := range map[string]string{
		"/usr/src/redis/ae.c": "ae.c",
		"ae.c":                "ae.c",
		"/srv/venv/lib/python3.12/site-packages/gunicorn/app/base.py": "gunicorn/app/base.py",
		"/usr/lib/python3/dist-packages/six.py":                       "six.py",
		"/usr/lib/python3.11/logging/__init__.py":                     "logging/__init__.py",
		"/opt/lib/python3.13t/logging/config.py":                      "logging/config.py",
		"/srv/shop/node_modules/find-my-way/index.js":                 "find-my-way/index.js",
		"/srv/node_modules/.pnpm/pg@8/node_modules/pg/lib/client.js":  "pg/lib/client.js",
		"/srv/shop/node_modules/@fastify/error/index.js":              "@fastify/error/index.js",
		"/srv/shop/index.js":                                          "index.js",
		"node:internal/child_process":                                 "node:internal/child_process",
		"node:events":                                                 "node:events",
		"/srv/shop/handlers.py":                                       "handlers.py",
		"/var/lib/gems/3.1.0/gems/puma-6.4.2/lib/puma/server.rb":      "puma/server.rb",
		"/usr/lib/ruby/vendor_ruby/rack/builder.rb":                   "rack/builder.rb",
		"/usr/lib/ruby/vendor_ruby/3.1.0/json.rb":                     "json.rb",
		"/usr/local/lib/ruby/3.3.0/net/http.rb":                       "net/http.rb",
		"/srv/shop/app/models/cart.rb":                                "cart.rb",
		"/usr/lib/ruby/gems/3.1.0/gems/puma-5.6.5/bin/server.rb":      "server.rb",
		"/srv/shop/__init__.py":                                       "shop/__init__.py",
		"/__main__.py":                                                "__main__.py",
		"__init__.py":                                                 "__init__.py",
		"<frozen importlib._bootstrap>":                               "<frozen importlib._bootstrap>",
		"/python3.12/":                                                "python3.12",
		"":                                                            ".",
	} {
		if got := SourceFile(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}
