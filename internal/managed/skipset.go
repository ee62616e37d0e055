// SPDX-License-Identifier: Apache-2.0

package managed

import "sync/atomic"

// SkipSet is a bounded set of addresses of objects that stops need not copy. The walking goroutine changes it, the
// tracer queries it, without blocking. Adding an address can evict another.
type SkipSet struct {
	slots [1 << skipBits]atomic.Uint64
}

const skipBits = 13

func (k *SkipSet) slot(addr uint64) *atomic.Uint64 {
	return &k.slots[addr*0x9e3779b97f4a7c15>>(64-skipBits)] // Fibonacci hashing
}

// Has reports whether an address is in the set. A nil set is empty.
func (k *SkipSet) Has(addr uint64) bool { return k != nil && k.slot(addr).Load() == addr }

// Add adds an address.
func (k *SkipSet) Add(addr uint64) { k.slot(addr).Store(addr) }

// Drop removes an address.
func (k *SkipSet) Drop(addr uint64) { k.slot(addr).CompareAndSwap(addr, 0) }
