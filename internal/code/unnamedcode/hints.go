// SPDX-License-Identifier: Apache-2.0

// Package unnamedcode names code without functions by its place, and says how to get names. A runtime is recognized
// by the files that a process maps.
package unnamedcode

import (
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"prywalk/internal/base/languages"
)

// Hint is about one runtime's code.
type Hint struct {
	languages.Hint
	language *languages.Language // nil means unknown
}

var other = Hint{Hint: languages.Hint{
	Runtime: "unknown", Code: "machine code generated at run time",
	Remedy: "have its runtime write /tmp/perf-PID.map, if it can",
}}

// ForFiles returns the first hint for a process that maps these files (paths), or false if that is no known runtime's.
func ForFiles(files []string) (Hint, bool) {
	for h := range AllForFiles(files) {
		return h, true
	}
	return other, false
}

// AllForFiles returns a hint for each language of a process that maps these files (paths).
func AllForFiles(files []string) iter.Seq[Hint] {
	return func(yield func(Hint) bool) {
		for _, l := range languages.All {
			i := slices.IndexFunc(l.Hints, func(h languages.Hint) bool {
				return slices.ContainsFunc(files, func(f string) bool { return h.Files.MatchString(path.Base(f)) })
			})
			if i < 0 {
				continue
			}
			h := Hint{l.Hints[i], l}
			if h.outdated(files); !yield(h) {
				return
			}
		}
	}
}

// outdated replaces the remedy if a file's version is too old for it.
func (h *Hint) outdated(files []string) {
	if h.Version == nil {
		return
	}
	for _, f := range files {
		m := h.Version.FindStringSubmatch(path.Base(f))
		if m == nil {
			continue
		}
		major, _ := strconv.Atoi(m[1]) // digits; an overflow is a large number
		minor, _ := strconv.Atoi(m[2])
		if major > h.Since[0] || major == h.Since[0] && minor >= h.Since[1] {
			continue
		}
		h.Hint.Remedy = fmt.Sprintf("%s %d.%d has no option for it; %d.%d and later have", h.Runtime, major, minor,
			h.Since[0], h.Since[1])
		return
	}
}

// HasNames reports whether a recording's mappings already have the language's names.
func (h *Hint) HasNames(mappings []string) bool {
	return slices.ContainsFunc(mappings, func(m string) bool {
		return h.language != nil && languages.OfMapping(m) == h.language
	})
}

// IsScript reports whether a mapping's functions are a script's, or were made at run time.
func IsScript(mapping string) bool {
	l := languages.OfMapping(mapping)
	return l != nil && !l.Native || MadeAtRunTime(mapping)
}

// interprets reports whether a function is the language's interpreter.
func (h *Hint) interprets(function string) bool { return slices.Contains(h.Eval, function) }

// Remedy says how to get names. pid is 0 if unknown; again is the next action, such as "record again".
func (h *Hint) Remedy(pid int, again string) string {
	text := strings.ReplaceAll(h.Hint.Remedy, "AGAIN", again)
	if pid == 0 {
		return text
	}
	return strings.ReplaceAll(text, "PID", strconv.Itoa(pid))
}

// libraryRemedy is for a stripped file; AGAIN stands for the next action.
func libraryRemedy(file string) string {
	python := pythonPackage.MatchString(file)
	switch {
	case languages.ValgrindTool.MatchString(path.Base(file)):
		return "these are Valgrind's own: install its debug symbols (Debian: valgrind-dbg) and AGAIN"
	case !strings.HasPrefix(file, "/") || IsFromDistribution(file):
		return "install its debug symbols (its package's -dbgsym or -debuginfo) and AGAIN"
	case python && strings.Contains(path.Base(file), ".so"):
		return "build its Python package from source with debug symbols, as wheels have none (pip install --no-binary), " +
			"and AGAIN"
	case python || packagedProgram.MatchString(file):
		return packagedRemedy
	case nuitkaFile.MatchString(file):
		return "if Nuitka made it, compile with --unstripped, which keeps its symbols, and AGAIN; else give " +
			"the file before strip: report --symbols FILE"
	}
	return "if you build it, record it and give the file before strip, or its debug file, of the same build: " +
		"report --symbols FILE; or link it without -s and AGAIN. If it came without symbols in a package " +
		"(pip, npm, conda), build it from its source with symbols and AGAIN. Names that an obfuscator removed " +
		"(garble -tiny) are in no file: build it without that option"
}

const packagedRemedy = "it came without symbols in a package of a language (pip, npm, conda), and is stripped when " +
	"that package is built, too: build the program itself from its source with symbols (Rust: " +
	"CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release; CMake: " +
	"-DCMAKE_BUILD_TYPE=RelWithDebInfo; Go: without -ldflags=-s), then AGAIN"

// IsFromDistribution reports whether distributions install files at such a path.
func IsFromDistribution(file string) bool { return distributionFile.MatchString(file) }

// IsAddressName reports whether the name is a file and an address, "prog+0x1600".
func IsAddressName(name, module string) bool {
	rest, ok := strings.CutPrefix(name, module+"+0x")
	return ok && module != "" && rest != "" && strings.Trim(rest, "0123456789abcdef") == ""
}

var (
	distributionFile = regexp.MustCompile(`^(/usr)?/(s?bin|lib(32|64|exec)?|games|share)/|/usr/lib/\w+-linux-gnu/`)
	nuitkaFile       = regexp.MustCompile(`(\.bin|\.cpython-[^/]*\.so)$`) // its default names
	pythonPackage    = regexp.MustCompile(`/(site|dist)-packages/`)
	packagedProgram  = regexp.MustCompile(`/(node_modules|[^/]*venv[^/]*/bin|\.local/bin|` +
		`[^/]*conda[^/]*(/envs/[^/]+)?/bin|virtualenvs/[^/]+/bin|pipx/.*/bin)/`)
)
