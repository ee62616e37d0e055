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

// Each method of this program has one caller, and none is inlined. A stack of the first thread has the JVM's call stub,
// main, c1, c2, and so on.
func TestJavaStacksAreTheChainOfCalls(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for _, c := range []struct {
		target string
		named  int
		stacks int
	}{
		{"java-chain", 3, manyChains}, {"java-chain-c1", 3, manyChains}, {"java-chain-int", 3, manyChains},
		{"java-work", 2, 2 * manyChains}, {"java-work-c1", 2, 2 * manyChains},
	} {
		t.Run(c.target, func(t *testing.T) {
			t.Parallel()
			target := testtargets.Run(t, c.target, testtargets.Options{})
			var seen javaStacks
			for enough := c.stacks; ; enough *= 2 {
				seen.record(t, target, enough)
				if !seen.tooManyIncomplete(c.stacks) || enough > 8*c.stacks {
					break
				}
				t.Logf("too many incomplete or unnamed for so few stacks, recording more: %+v", seen)
			}
			if seen.tooManyIncomplete(c.stacks) || seen.whole < c.stacks/2 || seen.named < c.named*seen.whole {
				t.Fatalf("want fewer incomplete or unnamed stacks, or more stacks and named methods: %+v", seen)
			}
		})
	}
}

type javaStacks struct {
	whole, named, unnamed int
	incomplete, replaced  int
}

// Chance exceeds half of the allowed share in one of fifty recordings: the test then records more, up to four times.
func (j *javaStacks) tooManyIncomplete(stacks int) bool {
	return j.incomplete*stacks/2 > j.whole || j.replaced*mostReplaced > j.whole || j.unnamed*1000 > j.whole
}

func (j *javaStacks) record(t *testing.T, target *testtargets.Target, enough int) {
	t.Helper()
	r := recordUntil(t, "enough stacks with Java frames", func(p *profile.Profile) bool {
		n := 0
		for _, s := range p.Sample {
			if label(s, "state") == "running" && len(javaFrames(s)) > 0 {
				n++
			}
		}
		return n >= enough
	}, "-F", "499", "-p", pidList(target.PIDs()))
	for _, s := range r.Sample {
		chain := javaFrames(s)
		if label(s, "state") != "running" || len(chain) == 0 {
			continue
		}
		if strings.HasPrefix(chain[0], "[incomplete") {
			names := stackOf(s)
			if slices.Contains(names, replacing) {
				j.replaced++
				continue
			}
			j.incomplete++
			t.Logf("incomplete stack: %q", names)
			continue
		}
		j.whole++
		if i := slices.Index(chain, ""); i >= 0 {
			j.unnamed++
			t.Logf("frame %d of %q has no name", i, chain)
		}
		n, wrong := chainNames(chain)
		if j.named += n; wrong != "" {
			t.Errorf("%s is not at its place in %v", wrong, chain)
		}
	}
	t.Logf("%+v", *j)
}

// replacing replaces a compiled frame by interpreted ones, and has unwind rules only at its calls. 0 to 1.2 % of the
// stacks in fifteen runs, depending on the processor and the compilers.
const (
	replacing    = "DeoptimizationBlob"
	mostReplaced = 30
)

const manyChains = 200

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
