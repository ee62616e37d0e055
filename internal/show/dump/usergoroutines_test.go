// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"prywalk/internal/show/dump/stacks"
)

// goroutinesOfTheRuntime has goroutines that start in the runtime and run the program's code.
const goroutinesOfTheRuntime = `package main

import (
	"bytes"
	"iter"
	"os"
	"runtime"
	"syscall"
	"time"
)

type object struct{ a [10]int }

//go:noinline
func yields(yield func(int) bool) {
	for yield(1) {
	}
}

//go:noinline
func finalize(c, begun chan int) { begun <- 1; <-c }

// inCall waits in a system call.
//
//go:noinline
func inCall(begun chan int) {
	var pipe [2]int
	syscall.Pipe(pipe[:])
	begun <- 1
	syscall.Read(pipe[0], make([]byte, 1))
}

//go:noinline
func leave(c, begun chan int) {
	runtime.SetFinalizer(new(object), func(*object) { finalize(c, begun) })
	runtime.AddCleanup(new(object), inCall, begun)
}

func main() {
	c, begun := make(chan int), make(chan int)
	for i := 0; i < 10; i++ {
		next, _ := iter.Pull(yields)
		next()
		go func() {
			blocked, _ := iter.Pull(func(func(int) bool) { <-c })
			blocked()
			next()
		}()
	}
	leave(c, begun)
	for n := 0; n < 2; {
		runtime.GC()
		select {
		case <-begun:
			n++
		case <-time.After(10 * time.Millisecond):
		}
	}
	all := make([]byte, 1<<20)
` + untilAllWait + `	os.Stdout.Write(append(all, "\nEND\n"...))
	time.Sleep(time.Hour)
}
`

var typeArguments = regexp.MustCompile(`\[.*\]`)

// asGoShows returns frames as runtime.Stack does: without type arguments, and without functions of the runtime.
func asGoShows(list []stacks.Frame) (out []stacks.Frame) {
	for _, f := range list {
		if !strings.HasPrefix(f.Function, "runtime.") {
			f.Function = typeArguments.ReplaceAllString(f.Function, "[...]")
			out = append(out, f)
		}
	}
	return out
}

func TestGoroutinesInUserCodeAreTheProgramsWhereverTheyStart(t *testing.T) {
	for _, release := range goReleases(t) {
		if release != "" && release < "1.24" {
			continue // has no cleanups
		}
		t.Run(release, func(t *testing.T) {
			cmd, out := startGoroutines(t, goroutinesOfTheRuntime, release, stripped...)
			own := ownGoroutines(t, out)
			count, seen := map[string]int{}, 0
			p := sampleAsleep(t, cmd.Process.Pid)
			for i := range p.GoroutineStacks {
				g := &p.GoroutineStacks[i]
				if g.System {
					continue
				}
				seen++
				o, known := own[g.ID]
				same := g.Wait == o.wait && sameFrames(asGoShows(g.Frames), o.frames)
				if g.Status == "syscall" { // Go leaves out other frames there
					same = o.wait == g.Status
				}
				if g.ID != 1 && (!known || !g.Complete || !same) {
					t.Errorf("goroutine %d (%s), %s: %q\nit says %+v", g.ID, g.Wait, g.StopReason, shown(g.Frames), o)
				}
				switch {
				case has(g, "main.finalize"):
					count["finalize"]++
				case has(g, "main.inCall"):
					count["inCall "+g.Status]++
				case has(g, "runtime.corostart"):
					count["coroutine "+g.Wait]++
				}
			}
			const want = "map[coroutine chan receive:10 coroutine coroutine:10 finalize:1 inCall syscall:1]"
			if fmt.Sprint(count) != want {
				t.Errorf("%v, not %s", count, want)
			}
			if seen != len(own) {
				t.Errorf("%d goroutines, the program knows %d", seen, len(own))
			}
			all := goLocksOf(t, cmd.Process.Pid).GoroutineLocks
			if len(all) != 1 || all[0].Kind != stacks.KindChannel || len(all[0].Waiters) != 11 {
				t.Errorf("%+v, not one channel", all)
			}
		})
	}
}
