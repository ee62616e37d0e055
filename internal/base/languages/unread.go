// SPDX-License-Identifier: Apache-2.0

package languages

import (
	"regexp"
	"strings"
)

var dotNet = Language{
	Runtimes: []string{".NET"},
	Hints: []Hint{{
		Runtime: ".NET", Code: "methods compiled by the .NET JIT",
		Remedy: "start it with DOTNET_PerfMapEnabled=1 in the environment",
		Files:  regexp.MustCompile(`^libcoreclr\.so`),
	}},
}

var erlang = Language{
	Runtimes: []string{"Erlang"},
	Hints: []Hint{{
		Runtime: "Erlang", Code: "code compiled by the BEAM JIT",
		Remedy: "start it with erl +JPperf true",
		Files:  regexp.MustCompile(`^beam\.smp$`),
	}},
}

// Rust has tokio, whose tasks are not read.
var Rust = Language{
	Unthreaded: "tokio's tasks", UnthreadedPossible: true,
	UnthreadedNext: "tokio-console or Handle::dump lists them, if the program was built for it (--cfg tokio_unstable)",
	Schedules: func(_, function, _, _ string) bool {
		return strings.HasPrefix(function, "tokio::runtime::scheduler::")
	},
}

// ValgrindTool matches the program that runs another one: each of Valgrind's tools is one.
var ValgrindTool = regexp.MustCompile(
	`^(memcheck|cachegrind|callgrind|helgrind|drd|massif|dhat|lackey|none|exp-bbv)-[a-z0-9]+-linux$`)

// valgrind is the first of all: it runs programs of any language.
var valgrind = Language{
	Hints: []Hint{{
		Runtime: "Valgrind", Code: "code that Valgrind has translated", Files: ValgrindTool,
		Remedy: "run the program without Valgrind (Valgrind's own profiler: valgrind --tool=callgrind)",
	}},
}
