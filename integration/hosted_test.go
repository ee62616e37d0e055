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

// levels are programs that call sin, tan and exp from code made at run time, each at another depth of calls that come
// back from C (with SBCL, of calls). A frame left out, or one that is none, shows in the depth.
var levels = []struct {
	name, runs string
	args       []string
	// incomplete is how many in a hundred stacks may be, on average: helpers of LuaJIT's interpreter have wrong call
	// frame information. Of 19,540 stacks in ten runs 812 were, 3.6 to 5.4 in a hundred.
	incomplete float64
	// compiled: a stack counts only if each call from C runs compiled code; a procedure is interpreted at first.
	compiled bool
	// leaves: Lisp runs on a stack of its own, and C on another one further out. The kernel copies one stack, so that
	// each of its samples is incomplete. Three of them make prywalk stop the process instead; a busy machine takes
	// longer for that.
	leaves bool
}{
	{"luajit", "luajit", []string{"levels.lua"}, 2, false, false},
	{"luajit-interpreted", "luajit", []string{"-joff", "levels.lua"}, 6, false, false},
	{"guile", "guile", []string{"--no-auto-compile", "levels.scm"}, 2, true, false},
	{"sbcl", "sbcl", []string{"--script", "levels.lisp"}, 2, false, true},
}

const fewLevels = 60

// levelFunction are the functions of libm at the levels, as libm names them for one processor or another.
var levelFunction = regexp.MustCompile(`^(?:__)?(?:ieee754_)?(sin|tan|exp)1?(?:f[0-9]+x?)?(?:_|$)`)

func TestCodeThatDoesNotDescribeItselfHasItsCallers(t *testing.T) {
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
			r := recordUntil(t, "each level is seen often", func(p *profile.Profile) bool {
				depths, _, _ := byLevel(p, program.compiled)
				return enough(depths)
			}, "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
			depths, running, incomplete := byLevel(r.Profile, program.compiled)
			t.Logf("%d stacks, %d incomplete, depths %v", running, incomplete, depths)
			checkLevels(t, depths)
			// Five standard errors more are chance.
			most := program.incomplete / 100 * float64(running)
			most += 5 * math.Sqrt(most)
			if program.leaves {
				most += float64(r.stats.Sampled)
			}
			if float64(incomplete) > most {
				t.Errorf("%d of %d stacks are incomplete, more than %.0f: %v, %d sampled by the kernel", incomplete, running, most,
					r.stats.Incomplete, r.stats.Sampled)
			}
		})
	}
}

// madeAt has how many frames of code made at run time a level has if all is compiled.
var madeAt = map[string]int{"sin": 1, "tan": 2, "exp": 3}

// byLevel counts, for each level's function, the depths from there outward; and the stacks of running threads.
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
		last, made := -1, 0 // the outermost frame of libm; the frames of code made at run time
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
			t.Errorf("%s has several depths: %s", level, fmt.Sprint(depths[level]))
		}
		for depth := range depths[level] {
			if depth <= before {
				t.Errorf("%s is at depth %d, the level before at %d", level, depth, before)
			}
			before = max(before, depth)
		}
	}
}
