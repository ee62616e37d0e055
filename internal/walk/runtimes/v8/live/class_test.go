// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/show/dump"
	"prywalk/internal/testtargets"
)

var methods = []string{"sleep", "method", "Old.bar", "still", "run", "inner", "quoted name", "(anonymous)", "#priv",
	"get prop", "(anonymous)", "inherited", "go", "make", "(anonymous)"}

// traced matches a line of V8's stack trace.
var traced = regexp.MustCompile(`at (?:(.*?) (?:\[as .*\] )?\()?/.*jsclass\.js:(\d+):\d+\)?$`)

// V8 prints the receiver's class, too.
func TestMethodsHaveTheirNameAsInV8sStackTrace(t *testing.T) {
	for version, exe := range nodes(t) {
		t.Run(version, func(t *testing.T) {
			pid, says := startSaying(t, exe, "jsclass.js")
			line, err := says.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var trace string
			if err := json.Unmarshal([]byte(line), &trace); err != nil {
				t.Fatal(err)
			}
			var theirs []string
			for _, line := range strings.Split(trace, "\n") {
				if m := traced.FindStringSubmatch(line); m != nil {
					theirs = append(theirs, m[1])
				}
			}
			p, err := loadedcode.Open(pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			var got []string
			testtargets.Eventually(t, "the stack of a thread that sleeps", func() bool {
				d, err := dump.Sample(p, dump.Options{MaxDepth: -1})
				if err != nil {
					t.Fatal(err)
				}
				got = got[:0]
				for i := range d.Threads {
					for _, f := range d.Threads[i].Frames {
						if f.Kind == "v8js" && strings.HasSuffix(f.File, "jsclass.js") {
							got = append(got, f.Function)
						}
					}
				}
				return slices.Equal(got, methods)
			})
			if len(theirs) != len(got) {
				t.Fatalf("V8's trace has %q", theirs)
			}
			for i, name := range got {
				if !strings.HasSuffix(theirs[i], name[strings.LastIndexByte(name, '.')+1:]) && name != "(anonymous)" {
					t.Errorf("%s, in V8's trace %s", name, theirs[i])
				}
			}
		})
	}
}
