// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// levels call sin, tan and exp from generated code, each at another depth of callbacks from C (with SBCL, of calls).
var levels = []struct {
	name, runs string
	args       []string
	// incomplete is the allowed percentage: helpers of LuaJIT's interpreter have wrong call frame information.
	// Measured: 812 of 19,540 stacks in ten runs, 3.6 to 5.4 % each.
	incomplete float64
	// Procedures are interpreted first: only stacks with compiled code at each call from C count.
	compiled bool
	// Lisp runs on its own stack, C on another one. A kernel sample has one of them, and is incomplete. After three of
	// these prywalk stops the process instead.
	leaves bool
}{
	{"luajit", "luajit", []string{"levels.lua"}, 2, false, false},
	{"luajit-interpreted", "luajit", []string{"-joff", "levels.lua"}, 6, false, false},
	{"guile", "guile", []string{"--no-auto-compile", "levels.scm"}, 2, true, false},
	{"sbcl", "sbcl", []string{"--script", "levels.lisp"}, 2, false, true},
}

const fewLevels = 60

var levelFunction = regexp.MustCompile(`^(?:__)?(?:ieee754_)?(sin|tan|exp)1?(?:f[0-9]+x?)?(?:_|$)`)

func TestCodeWithoutUnwindTablesHasItsCallers(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for _, program := range levels {
		t.Run(program.name, func(t *testing.T) {
			tool, err := exec.LookPath(program.runs)
			if err != nil {
				t.Skipf("%s is not installed: run make setup-tests", program.runs)
			}
			c := exec.Command(tool, program.args...)
			c.Dir = "testdata"
			testtargets.Ready(t, c)
			r := recordUntil(t, "60 stacks of each level", func(p *profile.Profile) bool {
				depths, _, _ := byLevel(p, program.compiled)
				return enough(depths)
			}, "-F", "999", "-p", strconv.Itoa(c.Process.Pid))
			testtargets.Kill(c)
			depths, running, incomplete := byLevel(r.Profile, program.compiled)
			t.Logf("%d stacks, %d incomplete, depths %v", running, incomplete, depths)
			checkLevels(t, depths)
			most := program.incomplete / 100 * float64(running)
			most += 5 * math.Sqrt(most)
			if program.leaves {
				most += float64(r.stats.Sampled)
			}
			if float64(incomplete) > most {
				t.Errorf("%d of %d stacks are incomplete, want at most %.0f: %v, %d kernel samples", incomplete,
					running, most, r.stats.Incomplete, r.stats.Sampled)
			}
		})
	}
}

var madeAt = map[string]int{"sin": 1, "tan": 2, "exp": 3}

func byLevel(p *profile.Profile, compiled bool) (depths map[string]map[int]int, running, incomplete int) {
	depths = map[string]map[int]int{"sin": {}, "tan": {}, "exp": {}}
	for _, s := range p.Sample {
		names := stackOf(s)
		if label(s, "state") != "running" || len(names) == 0 {
			continue
		}
		running++
		if strings.HasPrefix(names[len(names)-1], "[incomplete") {
			incomplete++
			continue
		}
		last, made := -1, 0
		level := ""
		for i, name := range names {
			if m := levelFunction.FindStringSubmatch(name); m != nil {
				last, level = i, m[1]
			}
			if name == "[anon]" {
				made++
			}
		}
		if last >= 0 && (!compiled || made == madeAt[level]) {
			depths[level][len(names)-last]++
		}
	}
	return depths, running, incomplete
}

func enough(depths map[string]map[int]int) bool {
	for _, of := range depths {
		n := 0
		for _, times := range of {
			n += times
		}
		if n < fewLevels {
			return false
		}
	}
	return true
}

func checkLevels(t *testing.T, depths map[string]map[int]int) {
	t.Helper()
	before := 0
	for _, level := range []string{"sin", "tan", "exp"} {
		if len(depths[level]) != 1 {
			t.Errorf("%s want one depth of the stacks, got counts by depth %s", level, fmt.Sprint(depths[level]))
		}
		for depth := range depths[level] {
			if depth <= before {
				t.Errorf("%s is at depth %d, want more than %d, the depth of the level before", level, depth, before)
			}
			before = max(before, depth)
		}
	}
}
