// SPDX-License-Identifier: Apache-2.0

// Command gostacks changes between stacks of the scheduler and those of 4,000 goroutines, megabytes away in the same
// mapping.
package main

import "fmt"

//go:noinline
func pass(from, to chan int, depth int) int {
	if depth > 0 {
		return pass(from, to, depth-1) + 1
	}
	for n := range from {
		go func() {}() // newproc runs on the scheduler's stack
		to <- n + 1
	}
	return 0
}

func main() {
	const rings, size = 4, 1000
	for range rings {
		ring := make([]chan int, size)
		for i := range ring {
			ring[i] = make(chan int, 1)
		}
		for i := range ring {
			go pass(ring[i], ring[(i+1)%size], 10)
		}
		ring[0] <- 1
	}
	fmt.Println("ready")
	select {}
}
