// SPDX-License-Identifier: Apache-2.0

// Package demo is the workload of prywalk demo: a small service whose profile is known, so that a report can be
// checked by eye.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

const (
	workers      = 8
	slowCallTime = 20 * time.Millisecond
)

type order struct {
	ID    int
	Items []item
}

type item struct {
	SKU   string
	Count int
}

// shop has the fault that the demo shows: its lock is held over a slow call.
type shop struct {
	mu     sync.Mutex
	prices map[string]int
}

// Run serves orders until ctx ends. Each needs a price, which one worker at a time fetches.
func Run(ctx context.Context) {
	s := &shop{prices: map[string]int{}}
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for id := 0; ctx.Err() == nil; id++ {
				s.serveOrder(id)
			}
		})
	}
	wg.Wait()
}

func (s *shop) serveOrder(id int) {
	o := makeOrder(id)
	s.lookUpPrice(o.Items[0].SKU)
	_ = encodeOrder(o)
}

func (s *shop) lookUpPrice(sku string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prices[sku] = fetchPrice(sku)
	return s.prices[sku]
}

// fetchPrice stands for a call of another service.
func fetchPrice(sku string) int {
	time.Sleep(slowCallTime)
	return len(sku)
}

func makeOrder(id int) *order {
	o := &order{ID: id, Items: make([]item, 400)}
	for i := range o.Items {
		o.Items[i] = item{SKU: fmt.Sprintf("sku-%04d", (id+i)%5000), Count: 1 + i%9}
	}
	return o
}

func encodeOrder(o *order) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return b
}
