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

// Each method of this program has one caller, and none is inlined. In a stack of its first thread, main comes from
// the code with which the virtual machine calls Java, then c1, c2, and so on. All have names, without any help of
// the program's. So a frame that is left out or made up shows in the names of all that lie further in.
func TestJavaStacksAreTheChainOfCalls(t *testing.T) {
	realPrograms(t)
	for _, c := range []struct {
		target string
		named  int // methods of the chain in an average stack, at least
		stacks int // that are looked at: one in a hundred may be incomplete, at work one in two hundred
	}{
		{"java-chain", 3, manyChains}, {"java-chain-c1", 3, manyChains}, {"java-chain-int", 3, manyChains},
		{"java-work", 2, 2 * manyChains}, {"java-work-c1", 2, 2 * manyChains},
	} {
		t.Run(c.target, func(t *testing.T) {
			target := testtargets.Run(t, c.target, testtargets.Options{})
			var seen javaStacks
			for enough := c.stacks; ; enough *= 2 {
				seen.record(t, target, enough)
				if !seen.fewAreWhole(c.stacks) || enough > 8*c.stacks {
					break
				}
				t.Logf("many for so few stacks; more are recorded: %+v", seen)
			}
			if seen.fewAreWhole(c.stacks) || seen.whole < c.stacks/2 || seen.named < c.named*seen.whole {
				t.Fatalf("%+v", seen)
			}
		})
	}
}

type javaStacks struct {
	whole, named, unnamed int // stacks of frames, names of the chain's methods, stacks with a frame without a name
	incomplete, replaced  int // incomplete ones, and those in the routine that replaces frames
}

// fewAreWhole is true if more stacks are not whole than should be. Of the first few stacks that may be chance: at a
// true share of half of what is allowed it is so in one of fifty recordings, and the test looks at more stacks then,
// four times. All of a target's stacks count.
func (j *javaStacks) fewAreWhole(stacks int) bool {
	return j.incomplete*stacks/2 > j.whole || j.replaced*mostReplaced > j.whole || j.unnamed*1000 > j.whole
}

// record records until so many stacks of Java are seen, and checks that the chain is in its place in each.
func (j *javaStacks) record(t *testing.T, target *testtargets.Target, enough int) {
	t.Helper()
	r := recordUntil(t, "enough of the chain is seen", func(p *profile.Profile) bool {
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
			t.Logf("incomplete: %q", names)
			continue
		}
		j.whole++
		if i := slices.Index(chain, ""); i >= 0 {
			j.unnamed++
			t.Logf("frame %d of %q has no name", i, chain)
		}
		n, wrong := chainNames(chain)
		if j.named += n; wrong != "" {
			t.Errorf("%s: %v", wrong, chain)
		}
	}
	t.Logf("%+v", *j)
}

// replacing is the machine's routine that puts interpreted frames in the place of a compiled one. It has no rule but at
// its calls: it saves all registers first, and takes the frame apart then. How often it is met there depends on the
// processor, whose largest registers take most of that time, and on how far the compilers have come. It was 0 to 1.2
// stacks in a hundred in fifteen runs beside others' programs. One in mostReplaced may be of these.
const (
	replacing    = "DeoptimizationBlob"
	mostReplaced = 30
)

// manyChains is how many stacks a chain of calls is looked at in: one that is incomplete is not one in a hundred then.
const manyChains = 200

// javaFrames gives the frames of code that the virtual machine has made, outermost first and without the stub that
// calls Java; an incomplete stack is one name. Nil if the thread is not in Java by way of the launcher.
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

// chainNames counts the names of the chain's methods, and says which of them is not in its place.
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
