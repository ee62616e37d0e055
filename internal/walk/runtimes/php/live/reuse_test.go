// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
)

func TestReusedMemoryGetsNoWrongName(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			pid := php.start(t, "reuse.php", "600", t.TempDir())
			p := open(t, pid)
			named, freed := 0, 0
			n := looks(25)
			for i := 0; i < n || named == 0 && i < 400*n; i++ { // how many are named depends on the moment of the stop
				list := managedFrames(sample(t, p, pid))
				for i, f := range list {
					if i+1 == len(list) {
						continue
					}
					number, ok := strings.CutPrefix(list[i+1].Function, "number")
					if !ok {
						continue
					}
					switch w := numberOf(f); {
					case f.Function == "[freed]":
						freed++
					case w != "" && w != number:
						t.Errorf("%s at line %d is called by number %s", f.Function, f.Line, number)
					case w != "":
						named++
					}
				}
			}
			t.Logf("%d looks: %d named, %d freed", n, named, freed)
			if named == 0 {
				t.Error("none has a name")
			}
		})
	}
}

func numberOf(f *stacks.Frame) string {
	if strings.HasPrefix(f.Function, "{closure") {
		return fmt.Sprint(f.Line)
	}
	number, ok := strings.CutPrefix(strings.TrimSuffix(f.Function, ".php"), "script")
	if !ok {
		return ""
	}
	return number
}
