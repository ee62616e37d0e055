// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

// link is a function of jschain.js, called by the link before it. call is the line of the next call.
type link struct {
	name           string
	call, from, to int
}

var chain = []link{
	{"f1", 61, 59, 62},
	{"f2", 55, 54, 58},
	{"(anonymous)", 56, 55, 57},
	{"f3", 52, 48, 53},
	{"get", 50, 49, 51},
	{"f4", 42, 40, 47},
	{"f4cmp", 43, 42, 45},
	{"f5", 35, 33, 39},
	{"(anonymous)", 37, 35, 38},
	{"m6", 30, 28, 31},
	{"f7", 19, 18, 25},
	{"f7rev", 22, 19, 23},
	{"f8", 16, 14, 17},
	{"burn", 0, 7, 13},
}

func (l *link) is(c call, leaf bool) bool {
	return l.name == c.name && (leaf && c.line >= l.from && c.line <= l.to || c.line == l.call || c.line == 0 ||
		l.name == "f5" && c.line == 34)
}

var constructed = link{"C6", 0, 27, 27}

func checkChain(stack []call) (known int, wrong string) {
	next, lost := 0, false
	for i := len(stack) - 1; i >= 0; i-- {
		c := stack[i]
		if c.lost() { // and the calls that were inlined there
			lost = next > 0
			continue
		}
		if c.file != "jschain.js" || next == 0 && c.name != "f1" {
			continue
		}
		for lost && next < len(chain) && !chain[next].is(c, i == 0) &&
			!(i == 0 && c.name == constructed.name && chain[next-1].name == "f5") {
			next++
		}
		lost = false
		if next >= len(chain) {
			return next, "beyond the last: " + c.String()
		}
		want := chain[next]
		if want.name != c.name && i == 0 && c.name == constructed.name && chain[next-1].name == "f5" {
			want = constructed
		}
		leaf := i == 0
		if !leaf && c.name == "f5" && (stack[i-1].name == constructed.name || i == 1 && stack[0].lost() && c.line == 34) {
			want.call = 34
		}
		if c.name == want.name && c.line == 0 && (c.typ == "turbofan" || c.typ == "maglev") {
			// It leaves optimized code: no line, and no calls inlined there.
			lost = true
			next++
			continue
		}
		switch {
		case c.name != want.name:
			return next, c.String() + ", not " + want.name
		case leaf && (c.line < want.from || c.line > want.to), !leaf && c.line != want.call:
			return next, c.String()
		case c.start != want.from:
			return next, c.String() + " begins elsewhere"
		}
		next++
	}
	return next, ""
}

// Flags for how functions are run. Not all releases have all.
var modes = map[string][]string{
	"default":     {},
	"interpreted": {"--no-opt", "--no-sparkplug", "--no-maglev"},
	"baseline":    {"--no-opt", "--always-sparkplug", "--no-maglev"},
	"maglev":      {"--maglev", "--always-sparkplug"},
	"turbofan":    {"--always-turbofan", "--max-lazy"},
	"collector":   {"--max-semi-space-size=1", "--gc-interval=2000", "--stress-compaction"},
}

const chains = 150

func TestJavaScriptChainsAreRightByNameAndLine(t *testing.T) {
	for version, exe := range nodes(t) {
		for mode, flags := range modes {
			if !testtargets.All() && mode != "default" && mode != "baseline" {
				continue
			}
			if !takes(exe, flags) {
				t.Logf("%s has not all of %s", version, flags)
				continue
			}
			t.Run(version+"/"+mode, func(t *testing.T) {
				pid := start(t, exe, "jschain.js", flags...)
				samples := int64(chains)
				if mode == "collector" {
					samples *= 4 // most are of the collector, or without a name
				}
				r := record(t, pid, samples, target.SamplingOptions{Freq: 199})
				whole, seen, links, moved, types := int64(0), int64(0), int64(0), int64(0), map[string]int64{}
				faults := 0
				each(r, func(s *pprof.Sample, stack []call) {
					weight := s.Value[0]
					seen += weight
					n, wrong := checkChain(stack)
					for _, c := range stack {
						types[c.typ] += weight
						if c.lost() {
							moved += weight
						}
					}
					if wrong != "" {
						if faults++; faults < 8 {
							t.Errorf("%s in %v", wrong, stack)
						}
					}
					links += int64(n) * weight
					if n == len(chain) {
						whole += weight
					}
				})
				t.Logf("%d stacks, %d whole, %d links, %d moved, %d wrong, %v", seen, whole, links, moved, faults, types)
				// With a collection every 2,000 allocations no stack need be whole, but some calls must have names.
				if whole == 0 && mode != "collector" || links == 0 {
					t.Errorf("%d of %d stacks are whole, %d calls are known, %d lost", whole, seen, links, moved)
				}
			})
		}
	}
}

func each(r *pprof.Profile, yield func(s *pprof.Sample, stack []call)) {
	for _, s := range r.Sample {
		if state := s.Label["state"]; len(state) == 0 || state[0] != "running" || s.Value[0] == 0 {
			continue
		}
		stack := calls(s)
		for _, c := range stack {
			if strings.HasPrefix(c.file, "jschain") {
				yield(s, stack)
				break
			}
		}
	}
}

func TestACallAfterLostOnesIsFoundByItsLine(t *testing.T) {
	stack := []call{{name: "(anonymous)", line: 37, start: 35, file: "jschain.js"}, {name: "[moved]"}, {name: "[moved]"},
		{name: "f2", line: 55, start: 54, file: "jschain.js"}, {name: "f1", line: 61, start: 59, file: "jschain.js"}}
	if known, wrong := checkChain(stack); wrong != "" || known != 9 {
		t.Errorf("%d calls, %s; want 9", known, wrong)
	}
}
