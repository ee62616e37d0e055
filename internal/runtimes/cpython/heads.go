// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # Verification of known code
//
// After each stop, known code objects are verified once for all observations that are walked together. A walk's first
// request reads all heads in one call, and before 3.12 the hashes of their names.

// maxBatch bounds the code objects read together in a walk.
const maxBatch = 2 * procmem.MaxParts

type heads struct {
	readAt  int64 // before the read: CLOCK_MONOTONIC, ns
	n       int
	at      [maxBatch]uint64
	bytes   [maxBatch]head
	hashAt  [maxBatch]uint64 // 0: not read
	hash    [maxBatch][8]byte
	parts   [maxBatch]frames.Region
	current int // index of the requested one
}

// identifyInBatch is identifyNow for known code, which was there at time at.
func (c *codes) identifyInBatch(addr uint64) (id identity, status codeStatus, at int64) {
	h := &c.heads
	if !c.batchRead {
		c.batchRead = true
		c.readHeads()
	}
	for i := range h.n {
		if h.at[i] == addr {
			h.current = i
			id, status = c.identify(addr, c.againWord)
			return id, status, h.readAt
		}
	}
	at = procmem.Now()
	id, status = c.identifyNow(addr)
	return id, status, at
}

func (c *codes) againWord(addr uint64) (uint64, bool) {
	h := &c.heads
	b := &h.bytes[h.current]
	switch off := addr - b.at; {
	case off < uint64(len(b.b)) && int(off)+8 <= b.n:
		return binary.LittleEndian.Uint64(b.b[off:]), true
	case addr != 0 && addr == h.hashAt[h.current]:
		return binary.LittleEndian.Uint64(h.hash[h.current][:]), true
	}
	return c.currentWord(addr)
}

// readHeads reads the heads of this walk's code objects that were not verified since the sample.
func (c *codes) readHeads() {
	h := &c.heads
	h.n, h.readAt = 0, procmem.Now()
	gather, ok := c.host.(managed.Gatherer)
	if !ok || c.sample.Live == nil {
		return
	}
	size := min(int(c.codeHead), len(head{}.b))
	for i := range c.batch {
		addr := c.batch[i].code
		e := c.kept.At(addr)
		if e == nil || c.sample.At != 0 && e.Checked >= c.sample.At || h.has(addr) {
			continue
		}
		h.at[h.n], h.hashAt[h.n] = addr, 0
		b := &h.bytes[h.n]
		b.at, b.n = addr, size
		h.parts[h.n] = frames.Region{Addr: addr, Bytes: b.b[:size]}
		if h.n++; h.n == maxBatch {
			break
		}
	}
	h.n = readAll(gather, h.parts[:h.n])
	if c.codeVersion == 0 {
		c.readHashes(gather)
	}
}

func (h *heads) has(addr uint64) bool {
	for _, at := range h.at[:h.n] {
		if at == addr {
			return true
		}
	}
	return false
}

func (c *codes) readHashes(gather managed.Gatherer) {
	h, k := &c.heads, 0
	for i := range h.n {
		name := binary.LittleEndian.Uint64(h.bytes[i].b[c.codeName:])
		if name == 0 {
			continue
		}
		h.hashAt[i] = name + textHash + c.headExtra
		h.parts[k] = frames.Region{Addr: h.hashAt[i], Bytes: h.hash[i][:]}
		k++
	}
	read := readAll(gather, h.parts[:k])
	for i := h.n - 1; i >= 0 && k > read; i-- {
		if h.hashAt[i] != 0 {
			h.hashAt[i] = 0
			k--
		}
	}
}

// readAll reads parts, and returns how many succeeded before the first failure.
func readAll(gather managed.Gatherer, parts []frames.Region) (n int) {
	for n < len(parts) {
		some := parts[n:min(n+procmem.MaxParts, len(parts))]
		got := gather.ReadParts(some)
		if n += got; got < len(some) {
			break
		}
	}
	return n
}
