package namehints

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Hint is about the code of one run-time system.
type Hint struct {
	// Runtime is its name, Code what the code without names is.
	Runtime, Code string
	// remedy is what gives names, with PID for the process.
	remedy string
	files  *regexp.Regexp
	// eval are the functions in which it interprets; nil if its interpreter has no names either.
	eval []string
	// managed begins the name of a mapping that has names of this language: then all is well.
	managed string
}

// hints in the order in which they are tried: a program that embeds a language is known by that language.
var hints = []Hint{
	{
		Runtime: "HotSpot", Code: "Java code, compiled or interpreted by the Java VM while it ran", managed: "[HotSpot",
		remedy: "run jcmd PID Compiler.perfmap (JDK 17 and later) before the recording ends: it names what is compiled by " +
			"then",
		files: regexp.MustCompile(`^libjvm\.so`),
	},
	{
		Runtime: "Node.js", Code: "JavaScript, compiled or interpreted by V8 while it ran", managed: "[V8",
		remedy: "start it with node --perf-basic-prof (or NODE_OPTIONS=--perf-basic-prof)",
		files:  regexp.MustCompile(`^(node(js)?(-?\d[\d.]*)?|libnode\.so.*)$`),
	},
	{
		Runtime: "Deno", Code: "JavaScript, compiled or interpreted by V8 while it ran", managed: "[V8",
		remedy: "start it with deno run --v8-flags=--perf-basic-prof",
		files:  regexp.MustCompile(`^deno$`),
	},
	{
		Runtime: "Chromium", Code: "JavaScript, compiled or interpreted by V8 while it ran", managed: "[V8",
		remedy: "start it, for a test, with --no-sandbox --js-flags=--perf-basic-prof",
		files:  regexp.MustCompile(`^(chrom(e|ium)(-browser)?|headless_shell|chrome-headless-shell|electron)$`),
	},
	{
		Runtime: ".NET", Code: "methods compiled by .NET while it ran", managed: "[.NET",
		remedy: "start it with DOTNET_PerfMapEnabled=1 in the environment",
		files:  regexp.MustCompile(`^libcoreclr\.so`),
	},
	{
		Runtime: "Erlang", Code: "code compiled by the BEAM while it ran", managed: "[BEAM",
		remedy: "start it with erl +JPperf true",
		files:  regexp.MustCompile(`^beam\.smp$`),
	},
	{
		Runtime: "Python", Code: "Python functions, which the interpreter runs", managed: "[CPython",
		remedy: "start it with python3 -X perf (3.12 and later)",
		files:  regexp.MustCompile(`^(python[\d.]*|libpython[\d.]*\.so.*)$`),
		eval:   []string{"_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx", "_PyEval_EvalFrame"},
	},
	{
		Runtime: "Ruby", Code: "Ruby methods, which the interpreter runs", managed: "[Ruby",
		remedy: "start it with ruby --yjit --yjit-perf (3.3 and later), which names what is compiled",
		files:  regexp.MustCompile(`^(ruby[\d.]*|libruby[\d.-]*\.so.*)$`),
		eval:   []string{"rb_vm_exec", "vm_exec_core", "vm_exec"},
	},
	{
		Runtime: "PHP", Code: "PHP functions, which the interpreter runs", managed: "[PHP",
		remedy: "start it with php -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M " +
			"-d opcache.jit_debug=0x10 (8.0 and later, with OPcache), which names what is compiled",
		files: regexp.MustCompile(`^(php[\d.]*|php-fpm[\d.]*|php-cgi[\d.]*|libphp[\d.]*\.so)$`),
		eval:  []string{"execute_ex", "zend_execute"},
	},
}

// other is for code of whom nobody knows who made it.
var other = Hint{
	Runtime: "unknown", Code: "machine code that the program made while it ran",
	remedy: "have its run-time system write /tmp/perf-PID.map, if it can",
}

// Of gives the hint for a process that maps these files, by their paths. False: none of the known ones.
func Of(files []string) (Hint, bool) {
	for _, h := range hints {
		for _, f := range files {
			if h.files.MatchString(path.Base(f)) {
				return h, true
			}
		}
	}
	return other, false
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

// Interprets reports whether a function is the one in which the language's code is interpreted.
func (h *Hint) Interprets(function string) bool {
	for _, e := range h.eval {
		if e == function {
			return true
		}
	}
	return false
}

// Remedy is what gives names, for a process; 0 if its number is not known.
func (h *Hint) Remedy(pid int) string {
	if pid == 0 {
		return h.remedy
	}
	return strings.ReplaceAll(h.remedy, "PID", strconv.Itoa(pid))
}

// LibraryRemedy is what gives names to the functions of a file that has been stripped, by its path.
func LibraryRemedy(file string) string {
	if strings.Contains(file, "/site-packages/") && !strings.HasPrefix(file, "/usr/lib") { // there it is a distribution's
		return "build its Python package from source with debug symbols, as wheels have none (pip install --no-binary), " +
			"and record again"
	}
	return "install its debug symbols (its package's -dbgsym or -debuginfo) and record again"
}
