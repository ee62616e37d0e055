// SPDX-License-Identifier: Apache-2.0

package namehints

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Hint is about the code of one run-time system.
type Hint struct {
	// Runtime is its name, Code what the code without names is.
	Runtime, Code string
	// remedy is what gives names, with PID for the process, and AGAIN for what shows them then.
	remedy string
	live   bool // the remedy takes the process while it runs
	files  *regexp.Regexp
	// eval are the functions in which it interprets; nil if its interpreter has no names either.
	eval []string
	// since is the first version that the remedy works for, {0, 0} if all do; version is that in a file's name.
	since   [2]int
	version *regexp.Regexp
	// managed begins the name of a mapping that has names of this language: then all is well.
	managed string
}

// hints in the order in which they are tried: a program that embeds a language is known by that language.
var hints = []Hint{
	{
		Runtime: "HotSpot", Code: "Java code, compiled or interpreted by the JVM", managed: "[HotSpot",
		remedy: "run jcmd PID Compiler.perfmap (JDK 17 and later), then AGAIN: it names the code compiled by then",
		live:   true,
		files:  regexp.MustCompile(`^libjvm\.so`),
	},
	{
		Runtime: "Node.js", Code: "JavaScript, compiled or interpreted by V8", managed: "[V8",
		remedy: "start it with node --perf-basic-prof (or NODE_OPTIONS=--perf-basic-prof)",
		files:  regexp.MustCompile(`^(node(js)?(-?\d[\d.]*)?|libnode\.so.*)$`),
	},
	{
		Runtime: "Deno", Code: "JavaScript, compiled or interpreted by V8", managed: "[V8",
		remedy: "start it with deno run --v8-flags=--perf-basic-prof",
		files:  regexp.MustCompile(`^deno$`),
	},
	{
		Runtime: "Chromium", Code: "JavaScript, compiled or interpreted by V8", managed: "[V8",
		remedy: "start it, for a test, with --no-sandbox --js-flags=--perf-basic-prof",
		files:  regexp.MustCompile(`^(chrom(e|ium)(-browser)?|headless_shell|chrome-headless-shell|electron)$`),
	},
	{
		Runtime: ".NET", Code: "methods compiled by the .NET JIT", managed: "[.NET",
		remedy: "start it with DOTNET_PerfMapEnabled=1 in the environment",
		files:  regexp.MustCompile(`^libcoreclr\.so`),
	},
	{
		Runtime: "Erlang", Code: "code compiled by the BEAM JIT", managed: "[BEAM",
		remedy: "start it with erl +JPperf true",
		files:  regexp.MustCompile(`^beam\.smp$`),
	},
	{
		Runtime: "Python", Code: "Python functions, run by the interpreter", managed: "[CPython",
		remedy: "start it with python3 -X perf (3.12 and later)",
		files:  regexp.MustCompile(`^(python[\d.]*|libpython[\d.]*\.so.*)$`),
		since:  [2]int{3, 12}, version: regexp.MustCompile(`^(?:lib)?python(\d+)\.(\d+)`),
		eval: []string{"_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx", "_PyEval_EvalFrame"},
	},
	{
		Runtime: "Ruby", Code: "Ruby methods, run by the interpreter", managed: "[Ruby",
		remedy: "start it with ruby --yjit --yjit-perf (3.3 and later), which names compiled code",
		files:  regexp.MustCompile(`^(ruby[\d.]*|libruby[\d.-]*\.so.*)$`),
		since:  [2]int{3, 3}, version: regexp.MustCompile(`^(?:lib)?ruby-?(\d+)\.(\d+)`),
		eval: []string{"rb_vm_exec", "vm_exec_core", "vm_exec"},
	},
	{
		Runtime: "PHP", Code: "PHP functions, run by the interpreter", managed: "[PHP",
		remedy: "start it with php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M " +
			"-d opcache.jit_debug=0x10 (8.0 and later, with OPcache), which names compiled code",
		files: regexp.MustCompile(`^(php[\d.]*|php-fpm[\d.]*|php-cgi[\d.]*|libphp[\d.]*\.so)$`),
		since: [2]int{8, 0}, version: regexp.MustCompile(`^(?:lib)?php(?:-fpm|-cgi)?(\d+)\.(\d+)`),
		eval: []string{"execute_ex", "zend_execute"},
	},
}

// other is for code of whom nobody knows who made it.
var other = Hint{
	Runtime: "unknown", Code: "machine code generated at run time",
	remedy: "have its runtime write /tmp/perf-PID.map, if it can",
}

// Of gives the hint for a process that maps these files, by their paths. False: none of the known ones.
func Of(files []string) (Hint, bool) {
	for _, h := range hints {
		for _, f := range files {
			if h.files.MatchString(path.Base(f)) {
				h.outdated(files)
				return h, true
			}
		}
	}
	return other, false
}

// outdated replaces a remedy that the version in a file's name is too old for by what that version lacks.
func (h *Hint) outdated(files []string) {
	if h.version == nil {
		return
	}
	for _, f := range files {
		m := h.version.FindStringSubmatch(path.Base(f))
		if m == nil {
			continue
		}
		major, _ := strconv.Atoi(m[1]) // of digits; one out of range is a large number
		minor, _ := strconv.Atoi(m[2])
		if major > h.since[0] || major == h.since[0] && minor >= h.since[1] {
			continue
		}
		h.remedy = fmt.Sprintf("%s %d.%d has no option for it; %d.%d and later have", h.Runtime, major, minor,
			h.since[0], h.since[1])
		return
	}
}

// Named reports whether the mappings of a recording have the language's own names already.
func (h *Hint) Named(mappings []string) bool {
	for _, m := range mappings {
		if h.managed != "" && strings.HasPrefix(m, h.managed) {
			return true
		}
	}
	return false
}

// Script reports whether a mapping's functions are those of a script or of code that a run-time system compiled: of a
// language's own names, or named by a perf map.
func Script(mapping string) bool {
	for _, h := range hints {
		if h.managed != "" && strings.HasPrefix(mapping, h.managed) {
			return true
		}
	}
	return mapping == "[anon]"
}

// Interprets reports whether a function is the one in which the language's code is interpreted.
func (h *Hint) Interprets(function string) bool {
	for _, e := range h.eval {
		if e == function {
			return true
		}
	}
	return false
}

// Remedy is what gives names, for a process; 0 if its number is not known. again is what shows them then, such as
// "record again".
func (h *Hint) Remedy(pid int, again string) string {
	text := strings.ReplaceAll(h.remedy, "AGAIN", again)
	if pid == 0 {
		return text
	}
	return strings.ReplaceAll(text, "PID", strconv.Itoa(pid))
}

// LibraryRemedy is what gives names to the functions of a file that has been stripped, by its path. again is what
// shows them then, such as "record again".
func LibraryRemedy(file, again string) string {
	return strings.ReplaceAll(libraryRemedy(file), "AGAIN", again)
}

func libraryRemedy(file string) string {
	library := strings.Contains(path.Base(file), ".so")
	switch {
	case !strings.HasPrefix(file, "/") || Distribution(file):
		return "install its debug symbols (its package's -dbgsym or -debuginfo) and AGAIN"
	case library && pythonPackage.MatchString(file):
		return "build its Python package from source with debug symbols, as wheels have none (pip install --no-binary), " +
			"and AGAIN"
	case pythonPackage.MatchString(file) || packagedProgram.MatchString(file):
		return packagedRemedy
	}
	return "if you build it, record it and give the file before strip, or its debug file, of the same build: " +
		"report --symbols FILE; or link it without -s and AGAIN. If it came without symbols in a package " +
		"(pip, npm, conda), build it from its source with symbols and AGAIN"
}

// packagedRemedy is for a program that came in a package of a language: building that package strips the program, too.
const packagedRemedy = "it came without symbols in a package of a language (pip, npm, conda), and is stripped when " +
	"that package is built, too: build the program itself from its source with symbols (Rust: " +
	"CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=1 cargo build --release; CMake: " +
	"-DCMAKE_BUILD_TYPE=RelWithDebInfo; Go: without -ldflags=-s), then AGAIN"

// Distribution reports whether a path is one at which packages of a distribution install files.
func Distribution(file string) bool { return distributionFile.MatchString(file) }

// Bounded reports whether a name is that of a function known by its bounds only: its file's and its address.
func Bounded(name, module string) bool {
	rest, ok := strings.CutPrefix(name, module+"+0x")
	return ok && module != "" && rest != "" && strings.Trim(rest, "0123456789abcdef") == ""
}

var (
	// distributionFile matches what packages of a distribution install.
	distributionFile = regexp.MustCompile(`^(/usr)?/(bin|sbin|lib|lib32|lib64|libexec|games|share)/`)
	// pythonPackage matches what pip installs as a package's own files.
	pythonPackage = regexp.MustCompile(`/(site|dist)-packages/`)
	// packagedProgram matches programs that package managers of languages install, as a wheel's into an environment.
	packagedProgram = regexp.MustCompile(`/(node_modules|[^/]*venv[^/]*/bin|\.local/bin|site-packages|` +
		`[^/]*conda[^/]*(/envs/[^/]+)?/bin|virtualenvs/[^/]+/bin|pipx/.*/bin)/`)
)
