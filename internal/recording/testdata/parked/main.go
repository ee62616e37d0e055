// Command parked is a Go program of which 20 goroutines wait for a channel.
package main

import (
	"os"
	"runtime"
	"time"
)

func main() {
	c := make(chan int)
	for range 20 {
		go func() { <-c }()
	}
	for range 20 {
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	os.Stdout.WriteString("ready\n")
	time.Sleep(2 * time.Minute)
}
