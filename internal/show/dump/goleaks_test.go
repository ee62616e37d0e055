// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/testtargets"
)

const goLeaks = `package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var (
	none   chan int
	global = make(chan int)
)

//go:noinline
func leakedReceiver() { <-make(chan int) }

//go:noinline
func leakedLocker() {
	// without a pointer, Go would allocate it together with others
	mu := new(struct {
		sync.Mutex
		_ *int
	})
	mu.Lock()
	mu.Lock()
}

//go:noinline
func nilReceiver() { <-none }

//go:noinline
func nilSender() { none <- 1 }

//go:noinline
func noCases() { select {} }

//go:noinline
func wakeable() { <-global }

func check() {
	text := make([]byte, 1<<16)
	for {
		stacks := string(text[:runtime.Stack(text, true)])
		n := 0
		for _, wait := range []string{"[chan receive]", "[sync.Mutex.Lock]", "(nil chan)]", "[select (no cases)]"} {
			n += strings.Count(stacks, wait)
		}
		if n == 7 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := pprof.Lookup("goroutineleak").WriteTo(io.Discard, 0); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
	global <- 1
}

func main() {
	for _, f := range []func(){leakedReceiver, leakedLocker, nilReceiver, nilSender, noCases, wakeable, check} {
		go f()
	}
	select {}
}
`

func TestGoroutinesThatNothingCanWakeAreAProvenDeadlock(t *testing.T) {
	want := []string{
		"chan receive (nil chan): main.nilReceiver",
		"chan send (nil chan): main.nilSender",
		"leaked: main.leakedLocker main.leakedReceiver",
		"select (no cases): main.noCases",
	}
	for _, release := range testtargets.First([]string{"", "1.27.4"}) {
		t.Run("go "+release, func(t *testing.T) {
			if release == "" {
				t.Setenv("GOEXPERIMENT", "goroutineleakprofile")
			}
			cmd, out := startGoroutines(t, goLeaks, release)
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			l := goLocksOf(t, cmd.Process.Pid)
			var got []string
			for _, d := range l.GoroutineDeadlocks {
				var in []string
				for _, w := range d.Waiters {
					function, _, _ := strings.Cut(w.In, " ")
					in = append(in, function)
				}
				slices.Sort(in)
				got = append(got, fmt.Sprintf("%s: %s", d.Reason, strings.Join(in, " ")))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) || l.Verdict != locks.VerdictDeadlock {
				t.Errorf("%s of\n%s\nwant\n%s", l.Verdict, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if text := lockText(t, l); !strings.Contains(text, "; 4 DEADLOCKS") ||
				!strings.Contains(text, "\nDEADLOCK: nothing can wake 2 goroutines of process ") {
				t.Errorf("the text is\n%s", text)
			}
		})
	}
}
