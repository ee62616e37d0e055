// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// # Code that is seen again
//
// What is known of a code object must be seen to hold after each stop, once for all looks that are walked together. The
// first of a walk's that is asked about has the heads of all others read in the same call, and then, before 3.12, the
// hashes of their names. Nothing is decided here: what is missing is read one by one.

// mostAgain is how many code objects are read together in a walk.
const mostAgain = 2 * procmem.MaxParts

// heads are the heads of code objects that were read for a walk.
type heads struct {
	moment int64 // before they were read, CLOCK_MONOTONIC in nanoseconds
	n      int
	at     [mostAgain]uint64
	bytes  [mostAgain]head
	hashAt [mostAgain]uint64 // 0: it was not read
	hash   [mostAgain][8]byte
	parts  [mostAgain]frames.Region
	now    int // the one that is asked about
}

// identifyAgain is [Runtime.identifyNow] for code that is known. at is a moment at which it was there.
func (r *Runtime) identifyAgain(addr uint64) (id identity, what found, at int64) {
	h := &r.heads
	if !r.walk.heads {
		r.walk.heads = true
		r.readHeads()
	}
	for i := range h.n {
		if h.at[i] == addr {
			h.now = i
			id, what = r.identify(addr, r.againWord)
			return id, what, h.moment
		}
	}
	at = procmem.Now()
	id, what = r.identifyNow(addr)
	return id, what, at
}

// againWord gives a word of what was read together.
func (r *Runtime) againWord(addr uint64) (uint64, bool) {
	h := &r.heads
	b := &h.bytes[h.now]
	switch off := addr - b.at; {
	case off < uint64(len(b.b)) && int(off)+8 <= b.n:
		return binary.LittleEndian.Uint64(b.b[off:]), true
	case addr != 0 && addr == h.hashAt[h.now]:
		return binary.LittleEndian.Uint64(h.hash[h.now][:]), true
	}
	return r.now(addr)
}

// readHeads reads the heads of this walk's code objects that were not seen since the sample was taken.
func (r *Runtime) readHeads() {
	h, w := &r.heads, &r.walk
	h.n, h.moment = 0, procmem.Now()
	gather, ok := r.host.(managed.Gatherer)
	if !ok || w.sample.Live == nil {
		return
	}
	size := min(int(r.codeHead), len(head{}.b))
	for i := range w.chain {
		addr := w.chain[i].code
		c := r.codes.byAddr[addr]
		if c == nil || w.sample.At != 0 && c.checked >= w.sample.At || h.has(addr) {
			continue
		}
		h.at[h.n], h.hashAt[h.n] = addr, 0
		b := &h.bytes[h.n]
		b.at, b.n = addr, size
		h.parts[h.n] = frames.Region{Addr: addr, Bytes: b.b[:size]}
		if h.n++; h.n == mostAgain {
			break
		}
	}
	h.n = readAll(gather, h.parts[:h.n])
	if r.codeVersion == 0 {
		r.readHashes(gather)
	}
}

// has reports whether a code object is among them.
func (h *heads) has(addr uint64) bool {
	for _, at := range h.at[:h.n] {
		if at == addr {
			return true
		}
	}
	return false
}

// readHashes reads the hashes of their names.
func (r *Runtime) readHashes(gather managed.Gatherer) {
	h, k := &r.heads, 0
	for i := range h.n {
		name := binary.LittleEndian.Uint64(h.bytes[i].b[r.codeName:])
		if name == 0 {
			continue
		}
		h.hashAt[i] = name + textHash + r.wider
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

// readAll reads places, and gives how many were read, up to the first that was not.
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
