// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"time"

	"prywalk/internal/base/cache"
	"prywalk/internal/host/procmem"
)

// codePlaces records where compilations begin, to notice that the collector moves code. An isolate gives each number
// once (Isolate::NextOptimizationId).
type codePlaces struct {
	heap   *heap
	starts map[uint64]uint64 // by optimization ID
	moved  int64             // last move, in nanoseconds of CLOCK_MONOTONIC
}

const maxPlaces = 1 << 16

func (c *codePlaces) forget() { c.starts, c.moved = nil, 0 }

// Code counts as moving for this time.
const compactionLasts = int64(10 * time.Second)

// recentlyCompacted reports whether the collector moved code lately: it may be back at an address that had other code
// at the copy.
func (c *codePlaces) recentlyCompacted() bool {
	return c.moved != 0 && procmem.Now()-c.moved < compactionLasts
}

// record records where a compilation begins. Isolates share numbers: code has moved only if it is no longer at the
// earlier address.
func (c *codePlaces) record(start, number uint64) {
	before, ok := c.starts[number]
	if ok && before != start && c.numberAt(before) != number {
		c.moved = procmem.Now()
	}
	cache.Put(&c.starts, maxPlaces, number, start)
}

func (c *codePlaces) numberAt(start uint64) uint64 {
	object := start - c.heap.build.headerSize + heapObjectTag
	if c.heap.build.codeStart != 0 {
		if object = c.heap.field(object, 8); !isObject(object) || c.heap.field(object, c.heap.build.codeStart) != start {
			return 0
		}
	}
	deopt := c.heap.field(object, c.heap.build.codeDeopt)
	if !isObject(deopt) {
		return 0
	}
	return c.heap.field(deopt, 16+8*uint64(c.heap.build.shared-optimizedID))
}
