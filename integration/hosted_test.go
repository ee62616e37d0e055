// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// levels call sin, tan and exp from generated code, each at another depth of callbacks from C.
var levels = []struct {
	name, runs string
	args       []string
	variant    bool
}{
	{"luajit", "luajit", []string{"levels.lua"}, false},
	{"luajit-interpreted", "luajit", []string{"-joff", "levels.lua"}, true},
}

// fewLevels stacks are awaited of each level.
func fewLevels() int {
	if testtargets.All() {
		return 60
	}
	return 10
}

var levelFunction = regexp.MustCompile(`^(?:__)?(?:ieee754_)?(sin|tan|exp)1?(?:f[0-9]+x?)?(?:_|$)`)

// Every complete stack of a level has the same depth. How many are incomplete depends on where the samples fall
// (benchmarks/atwork measures it): helpers of LuaJIT's interpreter have wrong call frame information.
func TestCodeWithoutUnwindTablesHasItsCallers(t *testing.T) {
	t.Parallel()
	realPrograms(t)
	for _, program := range levels {
		t.Run(program.name, func(t *testing.T) {
			t.Parallel()
			if program.variant {
				testtargets.OnlyInAll(t, "another mode of a program that has one")
			}
			c := exec.Command(testtargets.NeedProgram(t, program.runs), program.args...)
			c.Dir = "testdata"
			testtargets.Ready(t, c)
			r := recordUntil(t, fmt.Sprint(fewLevels(), " stacks of each level"), func(p *profile.Profile) bool {
				return enough(byLevel(p))
			}, "-F", "999", "-p", strconv.Itoa(c.Process.Pid))
			testtargets.Kill(c)
			checkLevels(t, byLevel(r.Profile))
			checkReasons(t, r.Profile, append(slices.Clone(physical), "no-rule", "loop")...)
		})
	}
}

func byLevel(p *profile.Profile) (depths map[string]map[int]int) {
	depths = map[string]map[int]int{"sin": {}, "tan": {}, "exp": {}}
	for _, s := range p.Sample {
		names := stackOf(s)
		if label(s, "state") != "running" || len(names) == 0 || incompleteReason(s) != "" {
			continue
		}
		last, level := -1, ""
		for i, name := range names {
			if m := levelFunction.FindStringSubmatch(name); m != nil {
				last, level = i, m[1]
			}
		}
		if last >= 0 {
			depths[level][len(names)-last]++
		}
	}
	return depths
}

func enough(depths map[string]map[int]int) bool {
	for _, of := range depths {
		n := 0
		for _, times := range of {
			n += times
		}
		if n < fewLevels() {
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
