// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/testtargets"
)

// Go called from C called from Go; the callback moves the goroutine's stack.
const callbacks = `package main

/*
extern int back(int);
static int there(int n) { volatile int x = back(n); return x + 1; }
*/
import "C"

var n uint64

//go:noinline
func deep(k int) int {
	var a [100]int
	if k > 0 {
		a[k%100] = deep(k - 1)
	}
	return a[(k+1)%100]
}

//go:noinline
func spin() {
	for {
		n++
	}
}

//export back
func back(k C.int) C.int {
	deep(200)
	spin()
	return k
}

//go:noinline
func enter() { C.there(3) }

func main() { enter() }
`

// byFramePointer holds past a prologue.
type byFramePointer struct{}

// Rule implements frames.RuleSource.
func (byFramePointer) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	r := frames.Rule{CFAReg: frames.X86RBP, CFAOff: 16, Method: frames.MethodCFI}
	r.Saved[0] = 2
	return r, nil, true
}

func TestCallbacksFromCLeadBackToTheGoroutine(t *testing.T) {
	testtargets.NeedProgram(t, "gcc")
	env := append([]string{"CGO_CFLAGS=-O0 -fno-omit-frame-pointer"}, withCgo...)
	leadBack(t, build(t, callbacks, env, "-ldflags=-s -w"))
	for _, r := range olderReleases(t) {
		t.Run("go"+r, func(t *testing.T) { leadBack(t, build(t, callbacks, with(r, env...), "-ldflags=-s -w")) })
	}
}

func leadBack(t *testing.T, path string) {
	l := start(t, path, byFramePointer{})
	inner := []string{"main.spin", "main.back", "_cgoexp", "runtime.cgocallbackg1", "runtime.cgocallbackg",
		"runtime.cgocallback", "crosscall2"}
	want := slices.Concat(inner, []string{"?", "runtime.asmcgocall", "runtime.cgocall", "main._Cfunc_there", "main.enter",
		"main.main", "runtime.main", "runtime.goexit"})
	found := 0
	look := func(tid int) {
		regs, ok := stop(t, tid)
		if !ok {
			return
		}
		names, _, why := l.walk(regs)
		syscall.PtraceDetach(tid)
		if len(names) == 0 || names[0] != "main.spin" {
			return
		}
		found++
		rest := names
		for _, n := range want {
			for len(rest) > 0 && !strings.HasPrefix(rest[0], n) {
				rest = rest[1:]
			}
		}
		if len(rest) != 1 || why != frames.StopRoot {
			t.Errorf("%v: %v", why, names)
		}
	}
	await(t, "a thread in main.spin", func() bool {
		for _, tid := range l.threads() {
			look(tid)
		}
		return found > 0
	})
}
