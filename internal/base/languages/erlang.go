// SPDX-License-Identifier: Apache-2.0

package languages

import "regexp"

var erlang = Language{
	Runtimes: []string{"Erlang"},
	Hints: []Hint{{
		Runtime: "Erlang", Code: "code compiled by the BEAM JIT",
		Remedy: "start it with erl +JPperf true",
		Files:  regexp.MustCompile(`^beam\.smp$`),
	}},
}
