// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

const codeOfV8 = "JavaScript, compiled or interpreted by V8"

var serverOfJavaScript = regexp.MustCompile(`^(node(js)?(-?\d[\d.]*)?|libnode\.so.*|deno|bun)$`)

// IsJavaScript reports whether a module is that of JavaScript functions: "[Node 20.20.2]". Node's event loop is native,
// so a thread that waits below such a function holds its loop, as execSync and Atomics.wait do.
func IsJavaScript(module string) bool {
	l := OfMapping(module)
	return l != nil && l.Kind == javaScript.Kind
}

var javaScript = Language{
	Runtimes: []string{"Node", "V8"}, Kind: "v8js",
	Hints: []Hint{
		{
			Runtime: "Node.js", Code: codeOfV8,
			Remedy: "start it with node --perf-basic-prof (or NODE_OPTIONS=--perf-basic-prof)",
			Files:  regexp.MustCompile(`^(node(js)?(-?\d[\d.]*)?|libnode\.so.*)$`),
		},
		{
			Runtime: "Deno", Code: codeOfV8,
			Remedy: "start it with deno run --v8-flags=--perf-basic-prof",
			Files:  regexp.MustCompile(`^deno$`),
		},
		{
			Runtime: "Chromium", Code: codeOfV8,
			Remedy: "start it, for a test, with --no-sandbox --js-flags=--perf-basic-prof",
			Files:  regexp.MustCompile(`^(chrom(e|ium)(-browser)?|headless_shell|chrome-headless-shell|electron)$`),
		},
	},
	// A worker of Node's platform collects garbage and compiles (src/node_platform.cc).
	Unoccupied: func(functions []string) bool {
		return slices.ContainsFunc(functions, func(name string) bool {
			return strings.HasPrefix(name, "node::(anonymous namespace)::PlatformWorkerThread")
		})
	},
	Unthreaded:         Promises,
	UnthreadedNext:     "prywalk dump -p PID (without --tasks=off) lists the pending awaits of Node 16 to 26",
	UnthreadedPossible: true,
	Schedules:          func(_, _, _, module string) bool { return serverOfJavaScript.MatchString(path.Base(module)) },
	Library:            func(_, file string) bool { return strings.HasPrefix(file, "node:") },
	Package:            installedIn(regexp.MustCompile(`^.*/node_modules/((?:@[^/]+/)?[^/]+)/`)),
	// No event loop is JavaScript.
	Waits: Waits{AwaitsReply: func(_, _ string) bool { return true }},
	System: System{
		LibraryFiles:     regexp.MustCompile(`^libnode\.so`),
		LibraryFunctions: regexp.MustCompile(`^(uv_|uv__|node::|v8::|Builtins_)`),
		Collects: regexp.MustCompile(`^v8::internal::(Heap::(CollectGarbage|PerformGarbageCollection)|` +
			`MarkCompactCollector::|Minor\w*Collector::|Scaveng|ConcurrentMarking::|IncrementalMarking::|Sweeper::|\w*Evacuat)`),
		NativeOwn: func(_, function string) bool {
			return strings.HasPrefix(function, "node::inspector::") && strings.HasSuffix(function, "::StartIoThreadMain")
		},
	},
}
