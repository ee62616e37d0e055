// SPDX-License-Identifier: Apache-2.0

// Goroutines locked to threads wait for a sync.Mutex that is never unlocked. It prints "ready", and ends when its
// standard input does.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
)

var mu sync.Mutex

func wait() {
	runtime.LockOSThread()
	mu.Lock()
}

func main() {
	mu.Lock()
	for range 3 {
		go wait()
	}
	fmt.Println("ready")
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
}
