// SPDX-License-Identifier: Apache-2.0

// Command handlers takes signals on its first thread, often on the scheduler's stack, since its goroutine sleeps and
// wakes up all the time.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	runtime.LockOSThread()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1) // no receiver
	go func() {
		for {
			_ = syscall.Tgkill(os.Getpid(), os.Getpid(), syscall.SIGUSR1)
		}
	}()
	work := make(chan int)
	go func() {
		for range work {
		}
	}()
	time.AfterFunc(5*time.Minute, func() { os.Exit(0) })
	fmt.Println("ready")
	for {
		work <- 1
	}
}
