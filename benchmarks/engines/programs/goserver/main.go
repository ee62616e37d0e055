// Goserver is an HTTP server whose handlers take some two milliseconds, with 16 clients in the same process.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

func work(n int) int {
	sum := 0
	for i := range 400_000 {
		sum = sum*31 + i ^ n
	}
	return sum
}

func answer(w http.ResponseWriter, _ *http.Request) {
	rows := make([]int, 12_000)
	for i := range rows {
		rows[i] = rand.IntN(1 << 20)
	}
	slices.Sort(rows)
	fmt.Fprintln(w, work(rows[100]))
}

func ask(url string) {
	for {
		if r, err := http.Get(url); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	}
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range 16 {
		go ask("http://" + l.Addr().String())
	}
	http.HandleFunc("/", answer)
	fmt.Fprintln(os.Stderr, http.Serve(l, nil))
	os.Exit(1)
}

// SPDX-License-Identifier: Apache-2.0
