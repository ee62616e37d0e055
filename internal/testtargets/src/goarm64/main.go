// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// A program whose frames a test lays out by hand, by the instructions of the arm64 compiler.
package main

import "os"

//go:noinline
func leaf(n int) int { return len(os.Args) + n }

//go:noinline
func middle(n int) int {
	var room [20]int
	for i := range room {
		room[i] = leaf(n + i)
	}
	return room[n%20]
}

//go:noinline
func outer(n int) int { return middle(n) * leaf(n) }

func main() { os.Exit(outer(3)) }
