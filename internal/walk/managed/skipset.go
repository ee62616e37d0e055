// SPDX-License-Identifier: Apache-2.0

package managed

import "sync/atomic"

// SkipSet is a bounded set of addresses of objects that stops need not copy. The walking goroutine changes it, the
// tracer queries it. An address can evict another.
type SkipSet struct {
	slots [1 << skipBits]atomic.Uint64
}

const skipBits = 13

func (s *SkipSet) slot(addr uint64) *atomic.Uint64 {
	return &s.slots[addr*0x9e3779b97f4a7c15>>(64-skipBits)] // Fibonacci hashing
}

// Has reports whether an address is in the set. A nil set is empty.
func (s *SkipSet) Has(addr uint64) bool { return s != nil && s.slot(addr).Load() == addr }

// Add adds an address.
func (s *SkipSet) Add(addr uint64) { s.slot(addr).Store(addr) }

// drop removes an address.
func (s *SkipSet) drop(addr uint64) { s.slot(addr).CompareAndSwap(addr, 0) }
