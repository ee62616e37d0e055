// SPDX-License-Identifier: Apache-2.0

package unnamedcode

import (
	"strings"
	"testing"
)

func TestRuntimesAreKnownByTheirFiles(t *testing.T) {
	for _, c := range []struct {
		files  []string
		name   string
		remedy string
	}{
		{[]string{"/usr/bin/java", "/usr/lib/jvm/17/lib/server/libjvm.so"}, "HotSpot", "jcmd 7 Compiler.perfmap"},
		{[]string{"/usr/bin/node"}, "Node.js", "--perf-basic-prof"},
		{[]string{"/opt/deno"}, "Deno", "--v8-flags"},
		{[]string{"/usr/lib/chromium/chromium"}, "Chromium", "--js-flags=--perf-basic-prof"},
		{[]string{"/usr/bin/python3.12"}, "Python", "-X perf"},
		{[]string{"/usr/lib/libpython3.11.so.1.0"}, "Python", "3.12 and later"},
		{[]string{"/usr/bin/python3.13t"}, "Python", "-X perf"},
		{[]string{"/usr/lib/libruby-3.1.so.3.1.2"}, "Ruby", "3.3 and later"},
		{[]string{"/usr/bin/php8.2"}, "PHP", "opcache.jit_debug"},
		{[]string{"/usr/bin/nodeset", "/usr/bin/pythonia"}, "unknown", "/tmp/perf-7.map"},
	} {
		h, ok := ForFiles(c.files)
		if h.Runtime != c.name || ok != (c.name != "unknown") || !strings.Contains(h.Remedy(7, "record again"), c.remedy) {
			t.Errorf("%v: %s, %v, %s", c.files, h.Runtime, ok, h.Remedy(7, "record again"))
		}
	}
}

func TestDebugSymbolsAreWhereTheFileCameFrom(t *testing.T) {
	for file, want := range map[string]string{
		"libz.so.1": "-dbgsym",
		"/home/a/venv/lib/python3.11/site-packages/numpy/core/x.so":      "--no-binary",
		"/usr/local/lib/python3.11/site-packages/numpy/core/x.so":        "--no-binary",
		"/usr/lib64/python3.11/site-packages/numpy/core/x.so":            "-debuginfo",
		"/usr/lib/python3/dist-packages/numpy/core/x.so":                 "-dbgsym",
		"/home/a/venv/bin/ruff":                                          "came without symbols",
		"/home/a/p/node_modules/@esbuild/linux-x64/bin/esbuild":          "came without symbols",
		"/home/a/venv/lib/python3.11/site-packages/cmake/data/bin/cmake": "then record again",
		"/usr/local/lib/python3.11/dist-packages/ninja/data/bin/ninja":   "CARGO_PROFILE_RELEASE_STRIP",
		"/usr/local/lib/python3.11/dist-packages/numpy/core/x.so":        "--no-binary",
		"/opt/miniconda3/bin/ruff":                                       "came without symbols",
		"/home/a/p/server":                                               "report --symbols FILE",
		"/home/a/hot.bin":                                                "compile with --unstripped",
		"/home/a/hot.dist/hot.cpython-311-x86_64-linux-gnu.so":           "compile with --unstripped",
		"/usr/local/bin/uv":                                              "build it from its source",
		"/usr/libexec/valgrind/memcheck-amd64-linux":                     "valgrind-dbg) and record again",
		"memcheck-amd64-linux":                                           "valgrind-dbg",
		"/usr/bin/xz":                                                    "-dbgsym",
		"/srv/chroot/trixie/usr/lib/x86_64-linux-gnu/libc.so.6":          "-dbgsym",
	} {
		if got := strings.ReplaceAll(libraryRemedy(file), "AGAIN", "record again"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", file, got)
		}
	}
}

func TestNamesAreFoundByTheMappingOfTheLanguage(t *testing.T) {
	h, _ := ForFiles([]string{"python3.12"})
	if h.HasNames([]string{"/usr/bin/python3.12"}) || !h.HasNames([]string{"/usr/bin/python3.12", "[CPython 3.12.1]"}) {
		t.Error("the mapping of a language's own frames decides")
	}
	if !h.interprets("_PyEval_EvalFrameDefault") || h.interprets("main") {
		t.Error("which function interprets")
	}
}
