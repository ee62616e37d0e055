// Command urgent is a torture target in Go. With "exact" (and GODEBUG=asyncpreemptoff=1, so that the runtime sends no
// SIGURG) it sends SIGURG to itself and counts the arrivals. Otherwise goroutines that never yield are preempted for
// one garbage collection after the other. Its output is that of torture.h.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

var rounds, surplus, work atomic.Int64

func spin() {
	for n := 0; ; n++ {
		if n%1_000_000 == 0 {
			work.Add(1)
		}
	}
}

func exact() {
	arrived := make(chan os.Signal, 16)
	signal.Notify(arrived, syscall.SIGURG)
	for {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGURG); err != nil {
			panic(err)
		}
		<-arrived
		surplus.Add(int64(len(arrived)))
		rounds.Add(1)
	}
}

func collect() {
	for ; ; rounds.Add(1) {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func main() {
	what := collect
	if len(os.Args) > 1 && os.Args[1] == "exact" {
		what = exact
	}
	runtime.GOMAXPROCS(4)
	go spin()
	go spin()
	go what()
	fmt.Println("ready")
	for in := bufio.NewReader(os.Stdin); ; {
		if _, err := in.ReadByte(); err != nil {
			break
		}
		fmt.Println("progress", rounds.Load())
	}
	fmt.Printf("rounds %d\nsurplus %d\nwork %d\nend 1\n", rounds.Load(), surplus.Load(), work.Load())
	os.Exit(0)
}

// SPDX-License-Identifier: Apache-2.0
