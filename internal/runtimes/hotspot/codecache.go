// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/heuristics"
	"prywalk/internal/managed"
)

// codeCache finds code blobs by heaps and segment maps, and caches them.
type codeCache struct {
	host         managed.Host
	analysis     *heuristics.Source // of instructions; nil: none
	layout       *layout
	cached       readCache
	mem          memory
	buf          [maxEntry]byte
	head         [maxHeader]byte
	heaps        []heap
	header       uint64              // bytes read of a block
	kinds        map[uint64]blobName // by address of the name
	byCode       map[uint64]blob     // by start of code; blank: no blob at that address
	byRequest    map[uint64]blob
	codelets     codelets
	proof        proof
	failedProofs int
}

func newCodeCache(h managed.Host, l *layout) *codeCache {
	k := &codeCache{
		host: h, analysis: h.Analysis(), layout: l,
		kinds: map[uint64]blobName{}, byCode: map[uint64]blob{}, byRequest: map[uint64]blob{},
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

// maxFailedProofs bounds failed proofs, possible while the machine starts.
const maxFailedProofs = 64

// Incomplete returns why the code cache is not read, or nil.
func (k *codeCache) Incomplete() error {
	if k.proof != proofFails {
		return nil
	}
	return &UnknownError{Reason: "the place of its interpreter and the headers of its code do not agree"}
}

// proven reports whether two paths without common fields lead to the interpreter's code: its variable; and heaps,
// segment map and blob header.
func (k *codeCache) proven() bool {
	if k.proof != proofPending {
		return k.proof == proofHolds
	}
	m, l := k.memory(), k.layout
	queue := m.word(l.staticAddress("AbstractInterpreter::_code"))
	if m.failed || queue == 0 || len(k.heaps) == 0 {
		return false
	}
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(max(m.int32(queue+l.offset("StubQueue::_buffer_limit")), 0))
	failed := m.failed
	k.proof = proofHolds
	b, ok := k.blobAt(at)
	if ok && !failed && b.kind == kindInterpreter && end > at && end <= b.end {
		return true
	}
	k.proof = proofPending
	if k.failedProofs++; k.failedProofs >= maxFailedProofs {
		k.proof = proofFails
	}
	return false
}

func (k *codeCache) starting() bool { return k.proof == proofPending && !k.proven() }

// Reserved reports whether an address is in the code cache, proven or not.
func (k *codeCache) Reserved(addr uint64) bool {
	if k.inHeaps(addr) == nil {
		k.heaps = k.readHeaps()
	}
	return k.inHeaps(addr) != nil
}

func (k *codeCache) memory() *memory {
	if k.mem.from, k.mem.failed = k.host, false; k.cached.inUse {
		k.mem.from = &k.cached
	}
	return &k.mem
}

// code reads at most maxEntry bytes, valid until the next call.
func (k *codeCache) code(addr, n uint64) []byte {
	b := k.buf[:min(n, maxEntry)]
	return b[:k.host.ReadCode(addr, b)]
}

// blobName returns the name of the blob at pc ("nmethod"), or "".
func (k *codeCache) blobName(pc uint64) string {
	h := k.heapOf(pc)
	if h == nil {
		return ""
	}
	m, l := k.memory(), k.layout
	at, ok := h.block(m, pc)
	if head := k.head[:]; ok && m.bytes(at, head[:k.header]) && head[l.usedOffset()] != 0 {
		return m.name(wordAt(head[l.sizes["HeapBlock"]+l.offset("CodeBlob::_name"):]))
	}
	return ""
}

// FuncRange returns the bounds of code with one frame size.
func (k *codeCache) FuncRange(pc uint64) (start, end uint64, ok bool) {
	b, ok := k.find(pc)
	return b.begin, b.end, ok && b.kind == kindMethod
}

// maxSeen bounds the cached blobs; beyond it Changed reports true.
const maxSeen = 1 << 14

// find is blobAt, cached until Changed reports true.
func (k *codeCache) find(pc uint64) (blob, bool) {
	if b := k.codelets.blob; pc >= b.begin && pc < b.end {
		return b, true
	}
	if b, ok := k.byRequest[pc]; ok {
		return b, true
	}
	b, ok := k.blobAt(pc)
	if ok {
		if len(k.byRequest) >= maxSeen {
			clear(k.byRequest)
		}
		k.byRequest[pc] = b
	}
	at := b.begin
	if !ok {
		b, at = blob{}, pc
	}
	// The first answer stays: rules were given by it.
	if _, known := k.byCode[at]; !known && len(k.byCode) <= maxSeen && (ok || k.heapOf(pc) != nil) {
		k.byCode[at] = b
	}
	return b, ok
}

// Changed reports whether a cached answer is out of date, and then drops all.
func (k *codeCache) Changed() bool {
	changed := len(k.byCode) > maxSeen
	for pc, was := range k.byCode {
		if changed {
			break
		}
		now, ok := k.blobAt(pc)
		changed = ok != (was != blob{}) || ok && now != was
	}
	if changed {
		k.Forget()
	}
	return changed
}

// Forget drops the cache.
func (k *codeCache) Forget() {
	clear(k.byCode)
	clear(k.byRequest)
	k.codelets = codelets{}
}
