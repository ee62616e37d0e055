// SPDX-License-Identifier: Apache-2.0

package frames

// cache keeps answers about program counters. The zero value is ready for use. At maxRecent recent answers, these
// become the older ones, and the older ones not used meanwhile are dropped.
type cache[T any] struct {
	recent, older []cacheEntry[T]
	used          int // answers in recent
}

// cacheEntry is a place in a table with linear probing (Knuth, The Art of Computer Programming, volume 3, §6.4,
// algorithm L). At least half of the places are empty.
type cacheEntry[T any] struct {
	key   cacheKey // zero: the place is empty
	value T
}

// Numbers of answers, powers of 2. A busy server has 3,000 return addresses, a large JVM several times as many. An
// answer takes two to four places of 24 to 40 bytes, a rule 48 bytes more, and 1,100 with a [Row].
const (
	minRecent = 1 << 5
	maxRecent = 1 << 13
)

type cacheKey struct {
	pc   Addr
	kind uint8 // 1, and bits of AfterCall and SPOnly
}

func keyOf(q Query) cacheKey {
	k := cacheKey{pc: q.PC, kind: 1}
	if q.AfterCall {
		k.kind |= 2
	}
	if q.SPOnly {
		k.kind |= 4
	}
	return k
}

// place returns the place of k, or the empty one where it belongs; nil if the table has no places.
func place[T any](table []cacheEntry[T], k cacheKey) *cacheEntry[T] {
	const multiplier = 0x9e3779b97f4a7c15 // 2⁶⁴ / golden ratio (Knuth, §6.4)
	for i := k.pc * multiplier >> 32; len(table) > 0; i++ {
		if e := &table[i&uint64(len(table)-1)]; e.key == k || e.key.kind == 0 {
			return e
		}
	}
	return nil
}

func (c *cache[T]) get(k cacheKey) (v T, ok bool) {
	if e := place(c.recent, k); e != nil && e.key.kind != 0 {
		return e.value, true
	}
	if e := place(c.older, k); e != nil && e.key.kind != 0 {
		c.add(k, e.value)
		return e.value, true
	}
	return v, false
}

// add adds a value. Precondition: get(k) has none.
func (c *cache[T]) add(k cacheKey, v T) {
	if c.used == len(c.recent)/2 {
		c.makeRoom()
	}
	*place(c.recent, k) = cacheEntry[T]{k, v}
	c.used++
}

func (c *cache[T]) makeRoom() {
	full := c.recent
	if c.used == maxRecent {
		c.older, c.recent, c.used = full, make([]cacheEntry[T], len(full)), 0
		return
	}
	c.recent = make([]cacheEntry[T], max(2*len(full), 2*minRecent))
	for _, e := range full {
		if e.key.kind != 0 {
			*place(c.recent, e.key) = e
		}
	}
}

func (c *cache[T]) clear() {
	clear(c.recent)
	c.older, c.used = nil, 0
}
