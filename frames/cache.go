// SPDX-License-Identifier: Apache-2.0

package frames

import "math/bits"

// cache keeps answers about addresses in a direct-mapped table: each has one place, where a newer answer replaces an
// older one. The older one moves to the neighbouring place, in the same cache line: otherwise two addresses of JIT code
// with one place evict each other in each walk, which costs up to 10 µs. Only answers of the cache's generation are
// valid. The zero value is ready for use.
type cache struct {
	entries    []entry
	shift      uint8 // 64 − log2(len(entries))
	generation uint64
	added      int // answers since the table has its size, and its generation
}

type entry struct {
	pc     Addr
	tag    uint64 // generation + 1 and, in the lowest kindBits, kind; 0 means an empty entry
	answer answer
}

// answer is a word, or a rule that does not fit into one.
type answer struct {
	word uint64
	rule *resolvedRule
}

// kind is what an answer is about: a rule, with bits of lookup.go, or a kind… of callsites.go.
type kind uint8

const kindBits = 4

// Numbers of answers of 32 bytes, powers of 2. A busy server has 3,000 return addresses, a large JVM many more.
const (
	minEntries = 1 << 8
	maxEntries = 1 << 15
)

func (c *cache) tag(k kind) uint64 { return (c.generation+1)<<kindBits | uint64(k) }

// place is Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, §6.4).
func (c *cache) place(k kind, pc Addr) uint64 {
	return (pc<<kindBits | uint64(k)) * 0x9e3779b97f4a7c15 >> (c.shift & 63)
}

func (c *cache) isValid(e *entry) bool { return e.tag >= c.tag(0) }

func (c *cache) get(k kind, pc Addr) (a answer, ok bool) {
	i, tag := c.place(k, pc), c.tag(k)
	if i >= uint64(len(c.entries)) {
		return a, false
	}
	if e := &c.entries[i]; e.pc == pc && e.tag == tag {
		return e.answer, true
	}
	if e := &c.entries[i^1]; e.pc == pc && e.tag == tag {
		return e.answer, true
	}
	return a, false
}

func (c *cache) put(k kind, pc Addr, a answer) {
	if c.added >= len(c.entries)/8 && len(c.entries) < maxEntries {
		c.grow()
	}
	c.set(entry{pc, c.tag(k), a})
	c.added++
}

func (c *cache) set(e entry) {
	i := c.place(kind(e.tag&(1<<kindBits-1)), e.pc)
	if c.isValid(&c.entries[i]) {
		c.entries[i^1] = c.entries[i]
	}
	c.entries[i] = e
}

func (c *cache) grow() {
	old := c.entries
	c.entries = make([]entry, max(minEntries, 2*len(old)))
	c.shift = uint8(64 - bits.TrailingZeros(uint(len(c.entries))))
	c.added = 0
	for i := range old {
		if c.isValid(&old[i]) {
			c.set(old[i])
		}
	}
}

func (c *cache) clear() { c.generation, c.added = c.generation+1, 0 }
