// SPDX-License-Identifier: Apache-2.0

// Two functions that compute below different labels, in short turns, with garbage to collect.
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
)

var (
	sink  int
	waste []byte
)

//go:noinline
func burnA(n int) {
	for i := 0; i < n; i++ {
		sink += i
	}
}

//go:noinline
func burnB(n int) {
	for i := 0; i < n; i++ {
		sink -= i
	}
}

func main() {
	fmt.Println("ready")
	defer func() { fmt.Println(sink, len(waste)) }() // never: both are used
	for turn := 0; ; turn++ {
		request := strconv.Itoa(turn % 7)
		pprof.Do(context.Background(), pprof.Labels("kind", "a", "request", request), func(context.Context) { burnA(100000) })
		waste = make([]byte, 1<<16)
		pprof.Do(context.Background(), pprof.Labels("kind", "b", "state", request), func(context.Context) { burnB(100000) })
	}
}
