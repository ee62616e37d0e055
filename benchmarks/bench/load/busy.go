// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"sync/atomic"
)

// Compute counts pieces of work, some 100 ns each, until ctx ends.
func Compute(ctx context.Context, n *atomic.Uint64) {
	x := uint64(1)
	for ctx.Err() == nil {
		for range 64 {
			x = Mix(x)
			n.Add(1)
		}
	}
	sink.Store(x)
}

var sink atomic.Uint64

// Mix is a piece of work in which each step depends on the last.
//
//go:noinline
func Mix(x uint64) uint64 {
	for range 200 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}
