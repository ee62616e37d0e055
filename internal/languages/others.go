// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

// golang is Go. What its goroutines wait for is in package waits (idlegoroutines.go).
var golang = Language{
	Systems: []string{"Go"}, Kind: "go", Native: true,
	System: System{
		LibraryFunctions: regexp.MustCompile(`^(runtime[./]|sync[./]|internal/|syscall\.|time\.|os[./]|io[./]|net[./]|` +
			`context\.|bufio\.|reflect\.|database/|crypto/|encoding/|poll\.)`),
		NativeForwards: regexp.MustCompile(`^_*(s|S)yscall6?$|` +
			`^runtime\.(futex\w*|notes?leep\w*|notet?sleep\w*|mPark|lock2?|semasleep)$|^internal/runtime/syscall`),
		NativeStarts: regexp.MustCompile(`^runtime\.(mstart\w*|mcall|schedule|park_m|goexit\w*)$`),
		NativeOwn:    func(_, function string) bool { return function == "runtime.sysmon" },
	},
}

var dotNet = Language{
	Systems: []string{".NET"},
	Hints: []Hint{{
		Runtime: ".NET", Code: "methods compiled by the .NET JIT",
		Remedy: "start it with DOTNET_PerfMapEnabled=1 in the environment",
		Files:  regexp.MustCompile(`^libcoreclr\.so`),
	}},
}

var erlang = Language{
	Systems: []string{"BEAM"},
	Hints: []Hint{{
		Runtime: "Erlang", Code: "code compiled by the BEAM JIT",
		Remedy: "start it with erl +JPperf true",
		Files:  regexp.MustCompile(`^beam\.smp$`),
	}},
}
