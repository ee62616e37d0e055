// Command gowork sorts, hashes, compresses, encodes and passes values between goroutines, for ever.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"sort"
	"strings"
	"sync"
)

var pattern = regexp.MustCompile(`(a+b)*c?[0-9]{2,}x`)

func words(round int) int {
	seen := map[string]int{}
	for i := range 3000 {
		seen[fmt.Sprintf("%x-%d-ab%dx", i*7919%10007, round%16, i)]++
	}
	var order []string
	for w := range seen {
		order = append(order, w)
	}
	sort.Strings(order)
	n := 0
	for _, w := range order[:500] {
		n += len(pattern.FindString(w)) + strings.Count(w, "a")
	}
	text, _ := json.Marshal(order)
	sum := sha256.Sum256(text)
	w, _ := flate.NewWriter(io.Discard, 6)
	_, _ = io.Copy(w, bytes.NewReader(text))
	_ = w.Close()
	return n + int(sum[0])
}

func exchange() {
	var wg sync.WaitGroup
	in := make(chan *big.Int)
	first := in
	for range 20 {
		out := make(chan *big.Int)
		go func(in, out chan *big.Int) {
			for x := range in {
				out <- new(big.Int).Mul(x, big.NewInt(12345))
			}
			close(out)
		}(in, out)
		in = out
	}
	wg.Go(func() {
		for range in {
		}
	})
	for i := range 200 {
		first <- big.NewInt(int64(i))
	}
	close(first)
	wg.Wait()
}

func main() {
	for round := 0; ; round++ {
		words(round)
		exchange()
	}
}

// SPDX-License-Identifier: Apache-2.0
