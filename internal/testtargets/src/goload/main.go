// Goload is a Go program with known shares of CPU time: goroutines, maps, sorting, channels and garbage.
//
// runLoad calls burn60, burn30 and burn10 (60:30:10), sortNumbers and countWords; others wait for a channel, a mutex
// and a timer. It ends after the seconds of its first argument (120).
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

const unit = 4000

func mix(seed uint64) uint64 {
	seed ^= seed << 13
	seed ^= seed >> 7
	return seed ^ seed<<17
}

//go:noinline
func burn60(seed uint64) uint64 {
	for range 60 * unit {
		seed = mix(seed)
	}
	return seed
}

//go:noinline
func burn30(seed uint64) uint64 {
	for range 30 * unit {
		seed = mix(seed)
	}
	return seed
}

//go:noinline
func burn10(seed uint64) uint64 {
	for range 10 * unit {
		seed = mix(seed)
	}
	return seed
}

//go:noinline
func sortNumbers(seed uint64) uint64 {
	numbers := make([]uint64, 1500)
	for i := range numbers {
		seed = mix(seed | 1)
		numbers[i] = seed
	}
	slices.SortFunc(numbers, func(a, b uint64) int { return int(a%1009) - int(b%1009) })
	return numbers[700]
}

//go:noinline
func countWords(seed uint64) uint64 {
	counts := map[string]int{}
	for range 400 {
		seed = mix(seed | 1)
		counts["word"+strconv.FormatUint(seed%90, 10)]++
	}
	return uint64(len(counts))
}

//go:noinline
func runLoad(results chan<- uint64) {
	for seed := uint64(1); ; {
		seed = burn60(seed | 1)
		seed += burn30(seed | 1)
		seed += burn10(seed | 1)
		seed += sortNumbers(seed) + countWords(seed)
		results <- seed
	}
}

//go:noinline
func waitForWork(queue <-chan uint64) uint64 { return <-queue }

//go:noinline
func waitForLock(m *sync.Mutex) {
	m.Lock()
	defer m.Unlock()
}

func main() {
	seconds := 120
	if len(os.Args) > 1 {
		if n, err := strconv.Atoi(os.Args[1]); err == nil {
			seconds = n
		}
	}
	end := time.After(time.Duration(seconds) * time.Second)
	results, queue := make(chan uint64), make(chan uint64)
	var held sync.Mutex
	held.Lock()
	go runLoad(results)
	go waitForWork(queue)
	go waitForLock(&held)
	fmt.Println("ready")
	var sum uint64
	for {
		select {
		case r := <-results:
			sum += r
		case <-end:
			fmt.Println(sum)
			return
		}
	}
}

// SPDX-License-Identifier: Apache-2.0
