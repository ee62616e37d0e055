// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

const goConditions = `package main

import (
	"fmt"
	"sync"
	"time"
)

type queue struct {
	mu   sync.Mutex
	cond *sync.Cond
	ok   bool
}

var (
	never  = make(chan int)
	inWait sync.WaitGroup
)

func newQueue() *queue {
	q := &queue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

//go:noinline
func (q *queue) get() {
	q.mu.Lock()
	for !q.ok {
		inWait.Done()
		q.cond.Wait()
	}
	q.mu.Unlock()
}

//go:noinline
func (q *queue) ready() {
	for !q.ok {
		inWait.Done()
		q.cond.Wait()
	}
}

//go:noinline
func (q *queue) getReady() {
	q.mu.Lock()
	q.ready()
	q.mu.Unlock()
}

//go:noinline
func (q *queue) hold(wake bool, ready chan int) {
	q.mu.Lock()
	if wake {
		q.cond.Broadcast()
	}
	ready <- 1
	<-never
	q.mu.Unlock()
}

//go:noinline
func (q *queue) put() { q.mu.Lock(); q.ok = true; q.mu.Unlock() }

func main() {
	ready := make(chan int)
	for _, wake := range []bool{false, true} {
		q := newQueue()
		inWait.Add(4)
		for i := 0; i < 2; i++ {
			go q.get()
			go q.getReady()
		}
		inWait.Wait()
		go q.hold(wake, ready)
		<-ready
		go q.put()
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
`

func TestGoroutinesInCondWaitDoNotHoldItsMutex(t *testing.T) {
	want := []string{
		"chan 0 of 0: 2 (*queue).hold,",
		"sync.Mutex: 1 (*queue).put, held by 1 (*queue).hold,",
		"sync.Mutex: 2 (*queue).get, 1 (*queue).put, 2 (*queue).ready, held by 1 (*queue).hold,",
	}
	for _, release := range goReleases(t, "1.20.14") {
		t.Run("go "+release, func(t *testing.T) {
			cmd, out := startGoroutines(t, goConditions, release)
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			var l *locks.Locks
			testtargets.Still(t, cmd.Process.Pid, func() { l = goLocksOf(t, cmd.Process.Pid) })
			got := slices.DeleteFunc(goroutineLockTexts(l), func(line string) bool {
				return strings.HasPrefix(line, stacks.KindCond) // only of some releases
			})
			if !slices.Equal(got, want) {
				t.Errorf("locks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
