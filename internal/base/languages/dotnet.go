// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

var dotNet = Language{
	Runtimes: []string{".NET"},
	Hints: []Hint{{
		Runtime: ".NET", Code: "methods compiled by the .NET JIT",
		Remedy: "start it with DOTNET_PerfMapEnabled=1 in the environment",
		Files:  regexp.MustCompile(`^libcoreclr\.so`),
	}},
}
