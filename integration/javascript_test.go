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

// Each function of this program has one caller: a stack of the first thread has c1, c2, and so on, with builtins
// between them. Some operators are used in one function only.
func TestJavaScriptStacksAreTheChainOfCalls(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for i, name := range []string{"node-chain", "node-chain-base", "node-chain-int"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if i > 0 {
				testtargets.OnlyInAll(t, "another compiler")
			}
			target := testtargets.Run(t, name, testtargets.Options{})
			r := recordUntil(t, "enough complete stacks of the chain", func(p *profile.Profile) bool {
				n := 0
				for _, s := range p.Sample {
					if label(s, "state") == "running" && inChain(stackOf(s)) && incompleteReason(s) == "" {
						n++
					}
				}
				return n >= manyChains()
			}, "-F", "499", "-p", pidList(target.PIDs()))
			stacks, leaves := 0, 0
			for _, s := range r.Sample {
				names := stackOf(s)
				if label(s, "state") != "running" || !inChain(names) || incompleteReason(s) != "" {
					continue
				}
				stacks++
				leaf, wrong := scriptChain(names)
				if leaf {
					leaves++
				}
				if wrong != "" {
					t.Errorf("%s is not at its place in %v", wrong, names)
				}
			}
			t.Logf("%d stacks, %d with a builtin of only one function", stacks, leaves)
		})
	}
}

func inChain(names []string) bool { return slices.Contains(names, "c1") }

var scriptFunction = regexp.MustCompile(`^c([1-9])$`)

var leafOf = map[string]byte{"Builtins_BitwiseXor": '8', "Builtins_ShiftLeft": '9', "Builtins_DivSmi": '6'}

// scriptChain returns the first misplaced name, and whether the innermost frame is a builtin at its place.
func scriptChain(names []string) (leaf bool, wrong string) {
	next := byte('1')
	for i := len(names) - 1; i >= 0; i-- {
		m := scriptFunction.FindStringSubmatch(names[i])
		if m == nil {
			if names[i] == "[moved]" && next > '1' { // a function sampled for the first time that the collector has moved since
				next++
			}
			continue
		}
		if m[1][0] != next {
			return false, names[i]
		}
		next++
	}
	for prefix, of := range leafOf {
		if strings.HasPrefix(names[0], prefix) {
			if next != of+1 {
				return true, names[0]
			}
			return true, ""
		}
	}
	return false, ""
}
