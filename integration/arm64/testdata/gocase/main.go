// Gocase is a Go program with its first goroutine locked to the first thread.
package main

import "runtime"

func init() { runtime.LockOSThread() }

//go:noinline
func leaf(v int) int { return v*3 + 1 }

//go:noinline
func middle(v int) int { return leaf(v+1) + 2 }

//go:noinline
func outer(v int) int {
	var room [200]int
	room[v%200] = middle(v)
	return room[v%100] + 3
}

func main() { println(outer(4)) }
