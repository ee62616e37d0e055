// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

type order struct {
	ID    int
	Name  string
	Items []item
}

type item struct {
	SKU   string
	Price float64
	Count int
}

// Run serves requests until ctx ends: two busy workers, one that wakes periodically, and many threads that wait.
func Run(ctx context.Context) {
	var wg sync.WaitGroup
	requests := make(chan int)
	start := func(f func()) { wg.Go(func() { runtime.LockOSThread(); f() }) }
	for range 2 {
		start(func() { serveOrders(requests) })
	}
	start(func() { everyTick(ctx, 100*time.Millisecond, cleanUp) })
	for range 8 {
		start(func() { waitForWork(ctx) })
	}
	for id := 0; ctx.Err() == nil; id++ {
		requests <- id
	}
	close(requests)
	wg.Wait()
}

func serveOrders(requests <-chan int) {
	rng := rand.New(rand.NewPCG(1, 2))
	for id := range requests {
		handleOrder(rng, id)
	}
}

func handleOrder(rng *rand.Rand, id int) {
	o := makeOrder(rng, id)
	sortByPrice(o.Items)
	storeOrder(encodeOrder(o))
}

func makeOrder(rng *rand.Rand, id int) *order {
	o := &order{ID: id, Name: fmt.Sprintf("order-%06d", id), Items: make([]item, 400)}
	for i := range o.Items {
		o.Items[i] = item{SKU: fmt.Sprintf("sku-%04d", rng.IntN(5000)), Price: rng.Float64() * 100, Count: 1 + rng.IntN(9)}
	}
	return o
}

func sortByPrice(items []item) {
	slices.SortFunc(items, func(a, b item) int {
		return cmp.Compare(a.Price*float64(a.Count), b.Price*float64(b.Count))
	})
}

func encodeOrder(o *order) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return b
}

func storeOrder(b []byte) {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(w, bytes.NewReader(b))
	_ = w.Close()
}

func everyTick(ctx context.Context, every time.Duration, f func()) {
	for ctx.Err() == nil {
		time.Sleep(every)
		f()
	}
}

func cleanUp() {
	seen := map[int]int{}
	for i := range 20000 {
		seen[i*7919%5000]++
	}
}

// waitForWork blocks its thread in a read that never returns data.
func waitForWork(ctx context.Context) {
	r, w := pipe()
	stop := context.AfterFunc(ctx, func() { closeFD(w) })
	defer stop()
	var b [1]byte
	readFD(r, b[:])
	closeFD(r)
}
