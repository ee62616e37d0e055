// SPDX-License-Identifier: Apache-2.0

// Goroutines that hold locks while they wait or run, and those that wait for these locks. It prints "ready" when its
// own run-time system says that these wait.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

var (
	mu    sync.Mutex
	rw    sync.RWMutex
	met   sync.Mutex
	cond  = sync.NewCond(&met)
	busy  sync.Mutex
	never = make(chan int)
)

//go:noinline
func hold(held chan int) {
	mu.Lock()
	defer mu.Unlock()
	rw.Lock()
	defer rw.Unlock()
	held <- 1
	<-never
}

//go:noinline
func await() { mu.Lock(); runtime.Gosched(); mu.Unlock() }

//go:noinline
func read() { rw.RLock(); runtime.Gosched(); rw.RUnlock() }

//go:noinline
func free() { mu := new(sync.Mutex); mu.Lock(); runtime.Gosched(); mu.Unlock(); <-never } // held before

//go:noinline
func meet() { met.Lock(); cond.Wait(); met.Unlock() } // it has unlocked met

//go:noinline
func compute() {
	for i := 0; i >= 0; i++ {
	}
}

//go:noinline
func run(held chan int) { busy.Lock(); held <- 1; compute(); busy.Unlock() }

//go:noinline
func queue() { busy.Lock(); runtime.Gosched(); busy.Unlock() }

func parked() bool {
	all := make([]byte, 1<<20)
	text := string(all[:runtime.Stack(all, true)])
	for _, reason := range []string{"[sync.Mutex.Lock", "[sync.RWMutex.RLock", "[sync.Cond.Wait"} {
		if !strings.Contains(text, reason) {
			return false
		}
	}
	return strings.Count(text, "[chan receive") == 2 && strings.Count(text, "[sync.Mutex.Lock") == 2
}

func main() {
	held := make(chan int)
	go hold(held)
	<-held
	go run(held)
	<-held
	go await()
	go queue()
	go read()
	go free()
	go meet()
	for !parked() {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}
