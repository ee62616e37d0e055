// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// Each method of this program has one caller, and none is inlined. A stack of the first thread has the JVM's call
// stub, main, c1, c2, and so on.
func TestJavaStacksAreTheChainOfCalls(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for i, c := range []struct {
		target string
		named  int
	}{{"java-chain", 3}, {"java-chain-c1", 3}, {"java-chain-int", 3}, {"java-work", 2}, {"java-work-c1", 2}} {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				testtargets.OnlyInAll(t, "another compiler or program")
			}
			target := testtargets.Run(t, c.target, testtargets.Options{})
			r := recordUntil(t, "enough complete stacks with named Java frames", func(p *profile.Profile) bool {
				n := 0
				for _, s := range p.Sample {
					if named, _ := chainNames(javaFrames(s)); label(s, "state") == "running" && named >= c.named {
						n++
					}
				}
				return n >= manyChains()
			}, "-F", "499", "-p", pidList(target.PIDs()))
			checkReasons(t, r.Profile, append(slices.Clone(physical), "no-rule", "loop")...)
			unnamed := 0
			for _, s := range r.Sample {
				chain := javaFrames(s)
				if label(s, "state") != "running" || incompleteReason(s) != "" {
					continue
				}
				if slices.Contains(chain, "") { // of a method that was compiled again before it was named
					unnamed++
				}
				if _, wrong := chainNames(chain); wrong != "" {
					t.Errorf("%s is not at its place in %v", wrong, chain)
				}
			}
			t.Logf("%d stacks with a frame without a name", unnamed)
		})
	}
}

// manyChains stacks are awaited. How many others are incomplete is measured by benchmarks/accuracy and atwork.
func manyChains() int {
	if testtargets.All() {
		return 200
	}
	return 50
}

// javaFrames returns the generated frames, outermost first, without the call stub; of an incomplete stack only that
// entry; nil if the launcher did not call Java in this thread.
func javaFrames(s *profile.Sample) []string {
	names := stackOf(s)
	if last := names[len(names)-1]; strings.HasPrefix(last, "[incomplete") {
		return []string{last}
	}
	launched := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "JavaMain") })
	var out []string
	for i := len(s.Location) - 1; i >= 0 && launched; i-- {
		l := s.Location[i]
		generated := l.Mapping != nil && (l.Mapping.File == "" || strings.HasPrefix(l.Mapping.File, "[anon") ||
			strings.HasPrefix(l.Mapping.File, "[HotSpot "))
		switch {
		case generated && len(l.Line) > 0 && l.Line[0].Function != nil:
			out = append(out, l.Line[0].Function.Name)
		case generated:
			out = append(out, "")
		case len(out) > 0:
			return out[1:]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out[1:]
}

var chainMethod = regexp.MustCompile(`(?:Chain|Work)\.(?:c([1-9])|(main))\b`)

func chainNames(chain []string) (named int, wrong string) {
	for i, name := range chain {
		m := chainMethod.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		named++
		place := 0
		if m[1] != "" {
			place = int(m[1][0] - '0')
		}
		if place != i {
			return named, name
		}
	}
	return named, ""
}
