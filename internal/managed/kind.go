// SPDX-License-Identifier: Apache-2.0

package managed

import "strings"

// kinds are the languages' names in dumps, by the first word of a run-time system's name.
var kinds = map[string]string{"HotSpot": "jvm", "CPython": "cpython", "V8": "v8js", "Ruby": "ruby", "PHP": "php",
	"Go": "go"}

// Kind gives the kind of frames that a run-time system has, by its [Runtime.Name]: "cpython" of "CPython 3.12.1".
func Kind(name string) string {
	word, _, _ := strings.Cut(name, " ")
	if k, ok := kinds[word]; ok {
		return k
	}
	return strings.ToLower(word)
}

// HasKind reports whether a name is that of a run-time system whose frames have a kind.
func HasKind(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	_, ok := kinds[word]
	return ok
}
