// SPDX-License-Identifier: Apache-2.0

package v8

import "testing"

func TestPositionsInNamesOfPerfMaps(t *testing.T) {
	for _, c := range []struct {
		name, file string
		line       int
	}{
		{"LazyCompile:~f file.js:1:2", "file.js", 1},
		{"JS:*sum /srv/app/stats.js:10:20", "/srv/app/stats.js", 10},
		{"Function:^ node:internal/main:3:4", "node:internal/main", 3},
		{"JS:~get size file:///x/a b.js:7:1", "file:///x/a b.js", 7},
		{"Script:~ /a.js:1:1", "/a.js", 1},
		{"JS:+Foo.bar C:\\x.js:5:6", "C:\\x.js", 5},
		{"Builtin:ArrayMap", "", 0},
		{"JS:*f", "", 0},
		{"JS:*f file.js", "", 0},
		{"JS:*f file.js:0:1", "", 0},
		{"JS:*f:1:2", "", 0},
		{"BytecodeHandler:LdaZero", "", 0},
		{"Lcom/foo/Bar;::method", "", 0},
	} {
		file, line, ok := PerfMapPosition(c.name)
		if file != c.file || line != c.line || ok != (c.file != "") {
			t.Errorf("%q: got %q %d %v", c.name, file, line, ok)
		}
	}
}

func FuzzPerfMapPosition(f *testing.F) {
	f.Add("JS:*f a.js:1:2")
	f.Add("JS:~get size file:///x/a b.js:7:1")
	f.Fuzz(func(t *testing.T, name string) {
		if file, line, ok := PerfMapPosition(name); ok && (file == "" || line < 1) {
			t.Errorf("%q: %q, line %d", name, file, line)
		}
	})
}
