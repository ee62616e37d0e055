// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

var callers = map[string][]string{
	"chain.php":     {""},
	"Chain::mapped": {"chain.php"},
	"array_map":     {"Chain::mapped"},
	"{closure}":     {"array_map", "Made"},
	"Sorter::sorted": {
		"{closure}",
	},
	"usort":                     {"Sorter::sorted"},
	"Sorter::compare":           {"usort"},
	"summed":                    {"Sorter::compare"},
	"delegating":                {"summed"},
	"generated":                 {"delegating"},
	"magic":                     {"generated"},
	"Chain::__call":             {"magic"},
	"called":                    {"Chain::__call"},
	"recursed":                  {"called", "call_user_func", "recursed"},
	"replaced":                  {"recursed"},
	"preg_replace_callback":     {"replaced"},
	"replacement":               {"preg_replace_callback"},
	"included":                  {"replacement"},
	"included.php":              {"included", "includes"},
	"fibered":                   {"included.php"},
	"Fiber::start":              {"fibered"},
	"Fiber::resume":             {"fibered"},
	"inFiber":                   {"Fiber::start", "Fiber::resume"},
	"evaluated":                 {"inFiber", "fibered"},
	"chain.php : eval()'d code": {"evaluated"},
	"lastStep":                  {"chain.php : eval()'d code"},
	"Chain::innermost":          {"lastStep"},

	"evals.php":                 {""},
	"includes":                  {"evals.php"},
	"evals":                     {"fibered"},
	"evals.php : eval()'d code": {"evals", "nested", "Made", "evals.php : eval()'d code"},
	"nested":                    {"evals.php : eval()'d code"},
	"Made":                      {"evals.php : eval()'d code"},
}

func name(f *stacks.Frame) string {
	n := f.Function
	if strings.HasPrefix(n, "Chain::{closure") || strings.HasPrefix(n, "{closure") {
		return "{closure}"
	}
	if m := evaluated.FindStringSubmatch(n); m != nil {
		return m[1] + " : eval()'d code"
	}
	return n
}

var evaluated = regexp.MustCompile(`^(chain\.php|evals\.php)(?:\(\d+\) : eval\(\)'d code)+$`)

var anyCaller = map[string]bool{
	"burn": true, "strlen": true, "str_repeat": true, "usleep": true, "microtime": true, "class_exists": true,
	"call_user_func": true, "Fiber::suspend": true, "Fiber::isTerminated": true, "Fiber::__construct": true,
}

func wrong(list []*stacks.Frame) string {
	for i, f := range list {
		n, caller := name(f), ""
		if i+1 < len(list) {
			caller = name(list[i+1])
		}
		if n == "[freed]" || caller == "[freed]" {
			continue
		}
		if anyCaller[n] {
			if caller == "" {
				return n + " has no caller"
			}
			continue
		}
		// Fiber::suspend has left what resumed the fiber (Zend/zend_fibers.c).
		ok := n == "inFiber" && caller == "" && i > 0 && name(list[i-1]) == "Fiber::suspend"
		for _, c := range callers[n] {
			ok = ok || c == caller
		}
		if !ok {
			return fmt.Sprintf("%s is called by %q", n, caller)
		}
	}
	return ""
}

// looks is the number of samples per program: PRYWALK_LOOKS, else a few.
func looks(few int) int {
	if n, err := strconv.Atoi(os.Getenv("PRYWALK_LOOKS")); err == nil {
		return n
	}
	return few
}

// chainLooks counts the stacks of chain.php.
type chainLooks struct {
	n, frames, none, incomplete, freed int
	example                            string // an incomplete stack
}

// lookAtChain samples chain.php, and fails the test for a complete stack that is not of the program.
func lookAtChain(t *testing.T, php interpreter, n int, before func()) (c chainLooks) {
	t.Helper()
	pid := php.start(t, "chain.php", "600")
	p := open(t, pid)
	for c.n = range n {
		before()
		th := sample(t, p, pid)
		list := managedFrames(th)
		if !th.Complete {
			c.incomplete++
			c.example = text(th)
		}
		if len(list) == 0 {
			c.none++
			if os.Getenv("PRYWALK_SHOW") != "" {
				t.Log(text(th))
			}
			continue
		}
		c.frames += len(list)
		for _, f := range list {
			if f.Function == "[freed]" {
				c.freed++
			}
		}
		if w := wrong(list); w != "" && th.Complete {
			t.Errorf("%s\n%s", w, text(th))
		}
	}
	c.n = n
	t.Logf("%d looks, %d frames: %d without frames, %d incomplete, %d frames freed", n, c.frames, c.none, c.incomplete,
		c.freed)
	return c
}

// With callbacks, generators, fibers, included and evaluated code, with the JIT compiler and without.
func TestChainsAreTheCallsOfTheProgram(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			if c := lookAtChain(t, php, looks(100), func() {}); c.frames == 0 {
				t.Errorf("%d stacks have no frames, %d are incomplete, as\n%s", c.none, c.incomplete, c.example)
			}
		})
	}
}

// elsewhere lets the program run to another moment, so that what a look finds does not depend on the look before: the
// program's loop takes less than a millisecond.
func elsewhere() {
	time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // the subject: another moment of the program
}

// Whether a stack lacks calls depends on the instruction at which the program is stopped: one that enters or leaves a
// function of the engine, or begins a fiber.
func TestStatisticalFewChainsLackCalls(t *testing.T) {
	all := interpreters(t)
	for _, php := range all {
		t.Run(php.name, func(t *testing.T) {
			c := lookAtChain(t, php, looks(200), elsewhere)
			testtargets.AtMost(t, "stacks have no frames", c.none, c.n, 1./20, 2*len(all))
			testtargets.AtMost(t, "stacks are incomplete, as\n"+c.example, c.incomplete, c.n, 1./20, 2*len(all))
		})
	}
}

func text(th *stacks.Thread) string {
	var b strings.Builder
	for i := range th.Frames {
		f := &th.Frames[i]
		fmt.Fprintf(&b, "%s %s:%d %s %x machinery=%v %s\n", f.Function, f.File, f.Line, f.Kind, uint64(f.PC), f.Machinery,
			f.Module)
	}
	return b.String() + th.StopReason
}
