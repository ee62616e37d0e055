// SPDX-License-Identifier: Apache-2.0

// Command work has four goroutines that encode and decode JSON. For each line of stdin it prints the sum of their
// rounds and the time in ns.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync/atomic"
	"time"
)

func words(seed int) []string {
	list := make([]string, 300)
	for i := range list {
		list[i] = strconv.Itoa((i*7919 + seed) % 10007)
	}
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	return list
}

func work(rounds *atomic.Int64) {
	for seed := 0; ; seed++ {
		text, err := json.Marshal(map[string][]string{"words": words(seed)})
		var back map[string][]string
		if err != nil || json.Unmarshal(text, &back) != nil {
			panic(err)
		}
		rounds.Add(1)
	}
}

func main() {
	var rounds atomic.Int64
	began := time.Now()
	for range 4 {
		go work(&rounds)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(rounds.Load(), time.Since(began).Nanoseconds())
	}
}
