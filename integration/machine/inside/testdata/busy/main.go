// Busy is a Go program with threads that grow stacks, collect garbage, take signals, change to the scheduler's stack
// and back, and read the clock. One goroutine is always in runLoad > burn > mix. It ends after the number of seconds
// given as first argument (default 3600).
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

//go:noinline
func deep(n int) int {
	var a [40]int
	if n > 0 {
		a[n%40] = deep(n - 1)
	}
	return a[(n+1)%40] + n
}

//go:noinline
func mix(v uint64) uint64 { return v*6364136223846793005 + v>>7 }

//go:noinline
func burn(v uint64) uint64 {
	for range 500 {
		v = mix(v)
	}
	return v
}

//go:noinline
func runLoad() {
	for v := uint64(1); ; {
		v = burn(v)
	}
}

var sink []byte

func main() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go runLoad()
	go func() {
		for {
			done := make(chan int)
			go func() { done <- deep(100) }()
			<-done
		}
	}()
	go func() {
		for {
			sink = make([]byte, 1<<14)
			_ = time.Now()
		}
	}()
	go func() {
		for {
			runtime.GC()
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			<-c
			time.Sleep(time.Millisecond)
		}
	}()
	fmt.Println("ready")
	seconds := 3600
	if len(os.Args) > 1 {
		seconds, _ = strconv.Atoi(os.Args[1])
	}
	time.Sleep(time.Duration(seconds) * time.Second)
}
