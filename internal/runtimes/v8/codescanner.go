// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// codeScanner records since when compilations are at their addresses. An isolate gives each number once
// (Isolate::NextOptimizationId): the same number at the same address is the same code, unless workers' code has changed
// places, and a scan before a copy proves its names. New generated mappings are searched for the map of
// InstructionStream, later also pages with unknown code.
type codeScanner struct {
	*heap
	seen    map[uint64]seenCode
	placed  map[uint64]uint64 // start by optimization ID
	moved   int64             // last move: CLOCK_MONOTONIC, ns
	pages   map[uint64]int64  // last scan: CLOCK_MONOTONIC, ns
	covered map[uint64]uint64 // examined mappings: end by start
	last    int64
	block   []byte
	batch   []candidate
	reads   []frames.Region
}

type seenCode struct {
	optimizationID uint64
	at             int64 // CLOCK_MONOTONIC, ns
}

type candidate struct {
	start  uint64 // of the instructions; 0: no optimized code
	code   uint64 // the Code object
	head   [codeHead]byte
	number [8]byte // the compilation's, a small integer
}

const (
	codePage        = 256 << 10 // kPageSizeBits in src/common/globals.h
	maxScanned      = 64 << 20  // bytes
	maxSeen         = 1 << 16
	maxCovered      = 1 << 14
	scanBatch       = 128
	scanEvery       = 50e6  // ns, any page
	rescanPageAfter = 250e6 // ns, same page
	maxMapTests     = 64
	maxGaps         = 16
	scanStep        = 16 << 10 // bytes
	codeAligned     = 32       // the least kCodeAlignment
)

func (c *codeScanner) since(start, number uint64) (at int64, ok bool) {
	s, ok := c.seen[start]
	return s.at, ok && number != 0 && s.optimizationID == number
}

func (c *codeScanner) forget() {
	*c = codeScanner{heap: c.heap, seen: map[uint64]seenCode{}, placed: map[uint64]uint64{}, pages: map[uint64]int64{},
		covered: map[uint64]uint64{}}
}

// Code counts as moving for this time, ns.
const compactionLasts = 10e9

// recentlyCompacted reports whether the collector moved code lately: it may be back at an address that had other code
// at the copy.
func (c *codeScanner) recentlyCompacted() bool {
	return c.moved != 0 && procmem.Now()-c.moved < compactionLasts
}

// recordPlace records where a compilation begins. Isolates share numbers: code has moved only if it is no longer at the
// earlier address.
func (c *codeScanner) recordPlace(start, number uint64) {
	before, ok := c.placed[number]
	if ok && before != start && c.numberAt(before) != number {
		c.moved = procmem.Now()
	}
	if len(c.placed) >= maxSeen {
		clear(c.placed)
	}
	c.placed[number] = start
}

func (c *codeScanner) numberAt(start uint64) uint64 {
	object := start - c.build.headerSize + heapObjectTag
	if c.build.codeStart != 0 {
		if object = c.field(object, 8); !isObject(object) || c.field(object, c.build.codeStart) != start {
			return 0
		}
	}
	deopt := c.field(object, c.build.codeDeopt)
	if !isObject(deopt) {
		return 0
	}
	return c.field(deopt, 16+8*uint64(c.build.shared-optimizedID))
}

func (c *codeScanner) scanNew(mods []*frames.Module) {
	left := uint64(maxScanned)
	for _, m := range mods {
		s := managed.Span{Start: max(m.Start, c.covered[m.Start]), End: m.End}
		if s.End = min(s.End, s.Start+left); s.Start >= s.End || len(c.covered) >= maxCovered {
			continue
		}
		c.covered[m.Start] = s.End
		left -= s.End - s.Start
		c.scanRange(s)
	}
}

func (c *codeScanner) scanPage(pc uint64) {
	page, now := pc&^(codePage-1), procmem.Now()
	if now-c.last < scanEvery || now-c.pages[page] < rescanPageAfter {
		return
	}
	if len(c.pages) >= maxSeen {
		clear(c.pages)
	}
	c.last, c.pages[page] = now, now
	c.scanRange(managed.Span{Start: page, End: page + codePage})
}

// scanRange records the code of a range, which V8 fills from its start (RegionAllocator).
func (c *codeScanner) scanRange(s managed.Span) {
	if c.block == nil {
		c.block = make([]byte, codePage)
		c.batch = make([]candidate, 0, scanBatch)
	}
	for at, gaps := s.Start, 0; at < s.End && gaps < maxGaps; {
		end := min(at&^(codePage-1)+codePage, s.End)
		n := 0
		for b := c.block[:end-at]; n < len(b); {
			part := b[n:min(len(b), n+scanStep)]
			got := c.live.Read(at+uint64(n), part)
			n += got
			if got < len(part) || !slices.ContainsFunc(part, func(x byte) bool { return x != 0 }) {
				break
			}
		}
		if n <= scanStep {
			gaps++
		}
		c.scanBlock(at, c.block[:n&^7])
		at = end
	}
	c.readBatch()
}

func (c *codeScanner) scanBlock(at uint64, b []byte) {
	if c.instructionStreamMap == 0 {
		if c.instructionStreamMap = c.findStreamMap(at, b); c.instructionStreamMap == 0 {
			return
		}
	}
	for i := 0; i+16 <= len(b); i += 8 {
		if binary.LittleEndian.Uint64(b[i:]) != c.instructionStreamMap {
			continue
		}
		object := at + uint64(i) + heapObjectTag
		start := object - heapObjectTag + c.build.headerSize
		if c.build.codeStart != 0 {
			object = binary.LittleEndian.Uint64(b[i+8:])
		}
		if !isObject(object) {
			continue
		}
		if len(c.batch) == cap(c.batch) {
			c.readBatch()
		}
		c.batch = append(c.batch, candidate{start: start, code: object})
	}
}

// findStreamMap returns the map of InstructionStream, which is among the most frequent words; 0: none.
func (c *codeScanner) findStreamMap(at uint64, b []byte) uint64 {
	count := map[uint64]int{}
	for i := int(-(at + c.build.headerSize) % codeAligned); i+16 <= len(b); i += codeAligned {
		w := binary.LittleEndian.Uint64(b[i:])
		if isObject(w) && isObject(binary.LittleEndian.Uint64(b[i+8:])) {
			count[w]++
		}
	}
	for range maxMapTests {
		var most uint64
		for w, n := range count {
			if n > count[most] || n == count[most] && w < most {
				most = w
			}
		}
		if most == 0 || c.typeOf(most) == c.build.types.instructionStream {
			return most
		}
		delete(count, most)
	}
	return 0
}

func (c *codeScanner) readBatch() {
	c.reads = c.reads[:0]
	for i := range c.batch {
		k := &c.batch[i]
		c.reads = append(c.reads, frames.Region{Addr: k.code - heapObjectTag, Bytes: k.head[:]})
	}
	c.readParts(c.reads)
	c.reads = c.reads[:0]
	for i := range c.batch {
		k := &c.batch[i]
		deopt := binary.LittleEndian.Uint64(k.head[c.build.codeDeopt:])
		if c.build.codeStart != 0 && binary.LittleEndian.Uint64(k.head[c.build.codeStart:]) != k.start ||
			!isObject(deopt) || !c.optimizing(k.head[c.build.codeFlags]) {
			k.start = 0
			continue
		}
		at := deopt - heapObjectTag + 16 + 8*uint64(c.build.shared-optimizedID)
		c.reads = append(c.reads, frames.Region{Addr: at, Bytes: k.number[:]})
	}
	c.readParts(c.reads)
	now := procmem.Now()
	if len(c.seen)+len(c.batch) > maxSeen {
		clear(c.seen)
	}
	for i := range c.batch {
		k := &c.batch[i]
		number := binary.LittleEndian.Uint64(k.number[:])
		if _, ok := smiValue(number); k.start == 0 || !ok || number == 0 {
			continue
		}
		if c.seen[k.start].optimizationID != number {
			c.seen[k.start] = seenCode{number, now}
			c.recordPlace(k.start, number)
		}
	}
	c.batch = c.batch[:0]
}

func (c *codeScanner) optimizing(flags byte) bool {
	switch c.build.kinds[flags&15] {
	case "", kindRegExp, kindBaseline:
		return false
	}
	return true
}
