// SPDX-License-Identifier: Apache-2.0

package frames

// ruleCache maps program counters to rules, in sets whose oldest entry is replaced. It has 16 sets (4 KB) at first, and
// grows while a set is full, up to a busy server's working set (256 KB).
type ruleCache struct {
	slots []cacheEntry // aligned to cache lines, as large objects are
	bits  uint         // 1<<bits sets
	used  bool
}

const (
	minBits  = 4 // first ruleCache.bits
	maxBits  = 10
	growBits = 2
	setSize  = 4
)

func newRuleCache(bits uint) ruleCache {
	return ruleCache{slots: make([]cacheEntry, setSize<<bits), bits: bits}
}

// cacheEntry is a cached rule with what the quick step needs, in one cache line.
type cacheEntry struct {
	key  uint64
	rule Rule
	mod  int32 // index into Space.modules, or -1
	// exact: pc is the address of an instruction even as a return address: a signal trampoline, or the start of a stack
	// prepared by hand.
	exact bool
	// confidence is of the address as a return address; the rule requires requiredConfidence of the one that it gives.
	confidence, requiredConfidence confidence
	stackSwitch                    stackSwitch
	quick                          quickRule
	_                              [12]byte
}

// cacheKey sets bit 0, so that no key is zero.
func cacheKey(pc Addr, caller, spOnly bool) uint64 {
	k := pc<<3 | 1
	if caller {
		k |= 2
	}
	if spOnly {
		k |= 4
	}
	return k
}

// hash is Fibonacci hashing to 1<<bits places.
func hash(k uint64, bits uint) uint64 { return k * 0x9e3779b97f4a7c15 >> (64 - bits) }

func (c *ruleCache) get(k uint64) *cacheEntry {
	first := int(hash(k, c.bits)) * setSize
	for i := range setSize {
		if e := &c.slots[first+i]; e.key == k {
			return e
		}
	}
	return nil
}

func (c *ruleCache) add(k uint64) *cacheEntry {
	c.used = true
	for c.setOf(k)[setSize-1].key != 0 && c.bits < maxBits {
		c.grow()
	}
	return c.push(k)
}

// setOf returns the entries of a key's set, the newest first.
func (c *ruleCache) setOf(k uint64) []cacheEntry {
	return c.slots[int(hash(k, c.bits))*setSize:][:setSize]
}

func (c *ruleCache) push(k uint64) *cacheEntry {
	set := c.setOf(k)
	copy(set[1:], set)
	set[0] = cacheEntry{key: k}
	return &set[0]
}

// grow makes the table four times as large. A Walker may still use an old entry.
func (c *ruleCache) grow() {
	larger := newRuleCache(c.bits + growBits)
	larger.used = c.used
	for i := len(c.slots) - 1; i >= 0; i-- { // the oldest of a set first
		if e := &c.slots[i]; e.key != 0 {
			*larger.push(e.key) = *e
		}
	}
	*c = larger
}

// clear leaves an unused table untouched memory.
func (c *ruleCache) clear() {
	if c.used {
		clear(c.slots)
		c.used = false
	}
}
