// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func found(m map[int]member) (all []string) {
	for at, m := range m {
		all = append(all, fmt.Sprintf("%d %s %s%s", at, m.class, m.name, m.key))
	}
	slices.Sort(all)
	return all
}

func TestMethodsHaveTheClassOfTheirSource(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"class A { m() {} }", "A m"},
		{"class A { constructor() {} static async *m(a, b = () => {}) { return {} } }", "A m"},
		{"class A extends f({}) { get x() { return 1 } set x(v) {} }", "A x,A x"},
		{"class B extends class A { m() {} } { n() {} }", "A m,B n"},
		{"const A = class { #p() {} static#q() {} }", "A #p,A #q"},
		{"x = { A: class { m() {} } }", "A m"},
		{"exports.A = class { m() {} }; f(class { m() {} })", ""},
		{"class A { [Symbol.iterator]() {} [f(1)]() {} 'a b'() {} 7() {} }", "A ,A ,A ,A [Symbol.iterator]"},
		{"class A { a = f(1)\n h = (x) => { g() }\n if(x) {} static { f() } b = function() {}; c() {} }", "A c,A if"},
		{"class A { m() { class B { n() {} } return { o() {} } } }", "A m,B n"},
		{"class A { m() { return `${ class B { n() {} } } } ${`}`}` } }", "A m,B n"},
		{"a = b / c; class A { m() {} } d = e / f", "A m"},
		{"if (x) /class B { n() {} }/.test(y); class A { m() {} }", "A m"},
		{"a = [/[/{]/, '{', \"\\\"{\"] // {\n/* { */ class A { m() { return i++ / 2 } }", "A m"},
		{"#!/usr/bin/env node {\nclass A { m() {} }", "A m"},
		{"x.class; ({ class: 1, m() {} }); function f(a) { return a.class } class A { m() {} }", "A m"},
		{"class A extends function() {} { m() {} }", ""},
		{"class A { m() {}", "not understood"},
		{"class A { m() { ] } }", "not understood"},
		{"class \\u0041 { m() {} }", "not understood"},
	} {
		narrow, ok := classesOf([]byte(c.source))
		wide, okWide := classesOf(utf16.Encode([]rune(c.source)))
		if ok != okWide || !slices.Equal(found(narrow), found(wide)) {
			t.Errorf("%q: %v in bytes, %v in wide characters", c.source, found(narrow), found(wide))
		}
		var got []string
		for at, m := range narrow {
			got = append(got, m.class+" "+m.name+m.key)
			if c.source[at] != '(' || c.source[m.end-1] != '}' {
				t.Errorf("%q: %q is no method", c.source, c.source[at:m.end])
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, ","); ok && text != c.want || !ok && c.want != "not understood" {
			t.Errorf("%q: %q %v, want %q", c.source, text, ok, c.want)
		}
	}
}

func TestFunctionsThatAreAssignedHaveThePropertysName(t *testing.T) {
	for text, want := range map[string]string{
		"};\nModule.prototype._compile = function(":       "Module.prototype._compile",
		"Module._extensions['.js'] = async function *":    "Module._extensions['.js']",
		"f(x).y = function":                               "",
		"a.b = c || function":                             "",
		"x = function":                                    "",
		"a.b = function named":                            "",
		"const c = a.b = function":                        "",
		"// a comment\n  primordials.x.y =\n    function": "primordials.x.y",
	} {
		got := ""
		if m := assignment.FindStringSubmatch(strings.TrimSuffix(text, "(")); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzClasses(f *testing.F) {
	f.Add("class A extends B { static async *m() { return `${/[}]/g}` } }")
	f.Add("x = class { get [Symbol.iterator]() {} }; a / b")
	f.Fuzz(func(t *testing.T, source string) {
		for at, m := range first(classesOf([]byte(source))) {
			if at < 0 || m.end <= at || m.end > len(source) {
				t.Errorf("%d to %d of %d", at, m.end, len(source))
			}
		}
		_, _ = classesOf(utf16.Encode([]rune(source)))
	})
}

func first(m map[int]member, _ bool) map[int]member { return m }
