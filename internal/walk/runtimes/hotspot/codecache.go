// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type codeCache struct {
	host         managed.Host
	analysis     *heuristics.Source // of instructions
	layout       *layout
	cached       readCache
	mem          memory
	buf          [maxEntry]byte
	head         [maxHeader]byte
	heaps        []heap
	blockBytes   uint64              // read of a block
	kinds        map[uint64]blobKind // by address of the name
	byCode       map[uint64]blob     // by start of code; blank: no blob
	byRequest    map[uint64]blob
	codelets     codelets
	proof        proof
	failedProofs int
	// unread: an answer that is not in byCode lacks memory that could not be read.
	unread bool
}

func newCodeCache(h managed.Host, l *layout) *codeCache {
	k := &codeCache{
		host: h, analysis: analysisOf(h), layout: l,
		kinds: map[uint64]blobKind{}, byCode: map[uint64]blob{}, byRequest: map[uint64]blob{},
	}
	k.cached.process.Reader = h
	if g, ok := h.(managed.Gatherer); ok {
		k.cached.readParts = g.ReadParts
	}
	return k
}

type proof uint8

const (
	proofPending proof = iota
	proofHolds
	proofFails
)

// Proofs may fail at the start.
const maxFailedProofs = 64

// Incomplete says why the code cache is not read.
func (c *codeCache) Incomplete() error {
	if c.proof != proofFails {
		return nil
	}
	return &UnknownError{Reason: "the place of its interpreter and the headers of its code do not agree"}
}

// proven reports whether the interpreter's variable and the heaps lead to the same code.
func (c *codeCache) proven() bool {
	if c.proof != proofPending {
		return c.proof == proofHolds
	}
	m, l := c.memory(), c.layout
	queue := m.word(l.staticAddress("AbstractInterpreter::_code"))
	if m.failed || queue == 0 || len(c.heaps) == 0 {
		return false
	}
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(max(m.int32(queue+l.offset("StubQueue::_buffer_limit")), 0))
	failed := m.failed // blobAt calls memory
	c.proof = proofHolds
	b, ok := c.blobAt(at)
	if ok && !failed && b.kind == kindInterpreter && end > at && end <= b.end {
		return true
	}
	c.proof = proofPending
	if c.failedProofs++; c.failedProofs >= maxFailedProofs {
		c.proof = proofFails
	}
	return false
}

func (c *codeCache) starting() bool { return c.proof == proofPending && !c.proven() }

// reserved reports whether an address is in the code cache, proven or not.
func (c *codeCache) reserved(addr uint64) bool {
	if c.inHeaps(addr) == nil {
		c.heaps = c.readHeaps()
	}
	return c.inHeaps(addr) != nil
}

// memory returns the one memory of c, without an error: callers test failed before another function calls memory.
func (c *codeCache) memory() *memory {
	if c.mem.from, c.mem.failed = c.host, false; c.cached.inUse {
		c.mem.from = &c.cached
	}
	return &c.mem
}

func (c *codeCache) code(addr, n uint64) []byte {
	b := c.buf[:min(n, maxEntry)]
	return b[:c.host.ReadCode(addr, b)]
}

// blobName returns the name of the blob at pc, "" if unknown.
func (c *codeCache) blobName(pc uint64) string {
	h := c.heapOf(pc)
	if h == nil {
		return ""
	}
	m, l := c.memory(), c.layout
	at, ok := h.block(m, pc)
	if head := c.head[:]; ok && m.bytes(at, head[:c.blockBytes]) && head[l.usedOffset()] != 0 {
		return m.name(wordAt(head[l.sizes["HeapBlock"]+l.offset("CodeBlob::_name"):]))
	}
	return ""
}

// FuncRange returns the bounds of a compiled method, or a stub with a constant frame size.
func (c *codeCache) FuncRange(pc uint64) (start, end uint64, ok bool) {
	b, ok := c.find(pc)
	return b.begin, b.end, ok && b.kind == kindMethod
}

// Beyond maxSeen cached blobs Changed reports true.
const maxSeen = 1 << 14

// find caches blobAt until Changed reports true.
func (c *codeCache) find(pc uint64) (blob, bool) {
	if b := c.codelets.blob; pc >= b.begin && pc < b.end {
		return b, true
	}
	if b, ok := c.byRequest[pc]; ok {
		return b, true
	}
	b, ok := c.blobAt(pc)
	if ok {
		managed.Remember(&c.byRequest, maxSeen, pc, b)
	}
	at := b.begin
	if !ok {
		b, at = blob{}, pc
	}
	// The first answer stays: rules depend on it.
	if _, known := c.byCode[at]; !known && len(c.byCode) <= maxSeen && (ok || c.heapOf(pc) != nil) {
		c.byCode[at] = b
	}
	return b, ok
}

// Changed reports whether a cached answer is out of date, and then drops all.
func (c *codeCache) Changed() bool {
	changed := c.unread || len(c.byCode) > maxSeen
	for pc, was := range c.byCode {
		if changed {
			break
		}
		now, ok := c.blobAt(pc)
		changed = ok != (was != blob{}) || ok && now != was
	}
	if changed {
		c.Forget()
	}
	return changed
}

// Forget drops the cache, except for a whole interpreter that is still there.
func (c *codeCache) Forget() {
	clear(c.byCode)
	clear(c.byRequest)
	was := c.codelets
	c.codelets = codelets{}
	if now, ok := c.blobAt(was.blob.begin); ok && was.all && now == was.blob {
		c.codelets = was
	}
	c.unread = false
}
