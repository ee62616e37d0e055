// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

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

// With callbacks, generators, fibers, included and evaluated code, with the JIT compiler and without.
func TestChainsAreTheCallsOfTheProgram(t *testing.T) {
	for _, php := range interpreters(t) {
		t.Run(php.name, func(t *testing.T) {
			pid := php.start(t, "chain.php", "600")
			p := open(t, pid)
			n, none, incomplete, freed, frames := looks(100), 0, 0, 0, 0
			var why, example string
			bad := 0
			for range n {
				th := sample(t, p, pid)
				list := managedFrames(th)
				if !th.Complete {
					incomplete++
					if example == "" {
						example = text(th)
					}
				}
				if len(list) == 0 {
					none++
					if os.Getenv("PRYWALK_SHOW") != "" {
						t.Log(text(th))
					}
					continue
				}
				frames += len(list)
				for _, f := range list {
					if f.Function == "[freed]" {
						freed++
					}
				}
				if w := wrong(list); w != "" && th.Complete {
					bad++
					why = w + "\n" + text(th)
				}
			}
			t.Logf("%d looks, %d frames: %d without frames, %d incomplete, %d frames freed, %d wrong", n, frames, none,
				incomplete, freed, bad)
			if bad > 0 {
				t.Error(why)
			}
			testtargets.AtMost(t, "stacks have no frames", none, n, 1./20)
			testtargets.AtMost(t, "stacks are incomplete, as\n"+example, incomplete, n, 1./20)
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
