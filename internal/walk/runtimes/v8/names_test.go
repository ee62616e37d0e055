// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"strings"
	"testing"
)

func TestFunctionsThatAreAssignedHaveThePropertysName(t *testing.T) {
	for text, want := range map[string]string{
		"};\nModule.prototype._compile = function(":       "Module.prototype._compile",
		"Module._extensions['.js'] = async function *":    "Module._extensions['.js']",
		"f(x).y = function":                               "",
		"a.b = c || function":                             "",
		"x = function":                                    "",
		"a.b = function named":                            "",
		"const c = a.b = function":                        "",
		"// a comment\n  primordials.x.y =\n    function": "primordials.x.y",
	} {
		got := ""
		if m := assignment.FindStringSubmatch(strings.TrimSuffix(text, "(")); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
