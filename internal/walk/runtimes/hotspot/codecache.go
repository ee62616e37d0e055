// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"maps"

	"prywalk/internal/base/cache"
)

type proof uint8

const (
	proofPending proof = iota
	proofHolds
	proofFails
)

// Proofs may fail at the start.
const maxFailedProofs = 64

// Incomplete says why the code cache is not read.
func (v *VM) Incomplete() error {
	if v.proof != proofFails {
		return nil
	}
	return &UnknownError{Reason: "the place of its interpreter and the headers of its code do not agree"}
}

// proven reports whether the interpreter's variable and the heaps lead to the same code.
func (v *VM) proven() bool {
	if v.proof != proofPending {
		return v.proof == proofHolds
	}
	m, l := v.memory(), v.layout
	queue := m.word(l.staticAddress("AbstractInterpreter::_code"))
	if queue == 0 || len(v.heaps) == 0 {
		return false
	}
	at := m.word(queue + l.offset("StubQueue::_stub_buffer"))
	end := at + uint64(max(m.int32(queue+l.offset("StubQueue::_buffer_limit")), 0))
	v.proof = proofHolds
	b, ok := v.blobAt(at)
	if ok && b.kind == kindInterpreter && end > at && end <= b.end {
		return true
	}
	v.proof = proofPending
	if v.failedProofs++; v.failedProofs >= maxFailedProofs {
		v.proof = proofFails
	}
	return false
}

func (v *VM) starting() bool { return v.proof == proofPending && !v.proven() }

// reserved reports whether an address is in the code cache, proven or not.
func (v *VM) reserved(addr uint64) bool {
	if v.inHeaps(addr) == nil {
		v.heaps = v.readHeaps()
	}
	return v.inHeaps(addr) != nil
}

// memory returns the one memory of v, without an error: callers test err before another function calls memory.
func (v *VM) memory() *memory {
	if v.mem.from, v.mem.err = v.host, nil; v.cached.inUse {
		v.mem.from = &v.cached.pages
	}
	return &v.mem
}

func (v *VM) code(addr, n uint64) []byte {
	b := v.buf[:min(n, maxEntry)]
	return b[:v.host.ReadCode(addr, b)]
}

// blobName returns the name of the blob at pc, "" if unknown.
func (v *VM) blobName(pc uint64) string {
	h := v.heapOf(pc)
	if h == nil {
		return ""
	}
	m, l := v.memory(), v.layout
	at, ok := h.block(m, pc)
	if head := v.head[:]; ok && m.bytes(at, head[:v.blockBytes]) && head[l.usedOffset()] != 0 {
		return m.name(wordAt(head[l.sizes["HeapBlock"]+l.offset("CodeBlob::_name"):]))
	}
	return ""
}

// FuncRange returns the bounds of a compiled method, or a stub with a constant frame size.
func (v *VM) FuncRange(pc uint64) (start, end uint64, ok bool) {
	b, ok := v.find(pc)
	return b.begin, b.end, ok && b.kind == kindMethod
}

const maxSeen = 1 << 14

// find caches blobAt until Changed reports true.
func (v *VM) find(pc uint64) (blob, bool) {
	if b := v.codelets.blob; pc >= b.begin && pc < b.end {
		return b, true
	}
	if b, ok := v.byRequest[pc]; ok {
		return b, true
	}
	b, ok := v.blobAt(pc)
	if ok {
		cache.Put(&v.byRequest, maxSeen, pc, b)
	}
	at := b.begin
	if !ok {
		b, at = blob{}, pc
	}
	// The first answer stays: rules depend on it.
	if _, known := v.byCode[at]; !known && len(v.byCode) <= maxSeen && (ok || v.heapOf(pc) != nil) {
		v.byCode[at] = b
	}
	return b, ok
}

// Changed reports whether a cached answer is out of date, and then drops all, and the addresses without a method: a
// method can replace a freed stub, and [javaFrames.infoAt] checks methods only. It is true, too, beyond maxSeen blobs:
// rules that depend on a blob without an entry cannot be checked.
func (v *VM) Changed() bool {
	changed := v.unread || len(v.byCode) > maxSeen
	for pc, was := range v.byCode {
		if changed {
			break
		}
		now, ok := v.blobAt(pc)
		changed = ok != (was != blob{}) || ok && now != was
	}
	if changed {
		v.Forget()
		if v.java != nil {
			maps.DeleteFunc(v.java.sites, func(_ site, info *codeInfo) bool { return info.code == nil })
		}
	}
	return changed
}

// Forget drops the cache, except for a whole interpreter that is still there.
func (v *VM) Forget() {
	clear(v.byCode)
	clear(v.byRequest)
	was := v.codelets
	v.codelets = codelets{}
	if now, ok := v.blobAt(was.blob.begin); ok && was.all && now == was.blob {
		v.codelets = was
	}
	v.unread = false
}
