// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

// # Verification of known objects
//
// Known objects are verified after each stop, for all samples walked together: the first request reads the places of
// all.

type places [4]place

type place struct {
	at uint64
	n  int
}

const (
	maxBatch        = 256 // objects
	batchObjectSize = 24 + bodyCopied + labelCopied + textCopied
)

type verifyBatch struct {
	readAt   int64 // before reading, CLOCK_MONOTONIC ns
	n        int
	objects  [maxBatch]*object
	bytes    [maxBatch][batchObjectSize]byte
	parts    [maxBatch * len(places{})]frames.Region
	filled   int
	first    [maxBatch + 1]int
	current  int
	fallback memory
}

// identifyInBatch returns an object's current identity, and when it was read.
func (c *objectCache) identifyInBatch(addr uint64, o *object) (id identity, status objectStatus, at int64) {
	a := &c.batch
	if !c.walk.verified {
		c.walk.verified = true
		c.readBatch()
	}
	for i := range a.n {
		if a.objects[i] == o {
			a.current = i
			id, status = heap{c.currentHeap.layout, a}.identify(addr, o.kind)
			return id, status, a.readAt
		}
	}
	at = procmem.Now()
	id, status = c.currentHeap.identify(addr, o.kind)
	return id, status, at
}

// Word implements memory.
func (a *verifyBatch) Word(addr uint64) (uint64, bool) {
	for i := a.first[a.current]; i < min(a.first[a.current+1], a.filled); i++ {
		p := &a.parts[i]
		if off := addr - p.Addr; off < uint64(len(p.Bytes)) && off+8 <= uint64(len(p.Bytes)) {
			return binary.LittleEndian.Uint64(p.Bytes[off:]), true
		}
	}
	return a.fallback.Word(addr)
}

// Read implements memory.
func (a *verifyBatch) Read(addr uint64, b []byte) int { return a.fallback.Read(addr, b) }

// readBatch reads the walk's objects not verified since the sample.
func (c *objectCache) readBatch() {
	a, w := &c.batch, c.walk
	a.n, a.filled, a.readAt, a.fallback = 0, 0, procmem.Now(), c.currentHeap.memory
	if w.gather == nil || w.Sample.Live == nil {
		return
	}
	k := 0
	for i := range w.frames {
		f := &w.frames[i]
		addr := f.iseq
		if f.flags&magicMask == magicCFunc {
			addr = f.method
		}
		o := c.byAddr[addr]
		if o == nil || a.n == maxBatch || w.Sample.At != 0 && o.checked >= w.Sample.At || o.asked == a.readAt {
			continue
		}
		o.asked = a.readAt
		a.objects[a.n], a.first[a.n] = o, k
		b := a.bytes[a.n][:]
		for _, p := range o.places {
			if p.n > 0 && p.n <= len(b) {
				a.parts[k] = frames.Region{Addr: p.at, Bytes: b[:p.n:p.n]}
				b = b[p.n:]
				k++
			}
		}
		a.n++
		a.first[a.n] = k
	}
	for a.filled < k {
		some := a.parts[a.filled:min(a.filled+procmem.MaxParts, k)]
		got := w.gather.ReadParts(some)
		if a.filled += got; got < len(some) {
			break
		}
	}
}

// placesOf returns the memory that shows whether an object is the same.
func (h heap) placesOf(addr uint64, o *object) (all places) {
	if o.kind != isCode {
		all[0] = place{addr, methodSize}
		if o.kind == isMethod {
			all[1] = place{o.id.words[wordDef], defSize}
		}
		return all
	}
	body := o.id.words[wordBody]
	label := o.id.words[wordLabel]
	all[0], all[1] = place{addr, 24}, place{body, bodyCopied}
	at, n, ok := h.textAt(label)
	switch {
	case !ok:
	case at-label < labelCopied:
		all[2] = place{label, min(labelCopied, int(at-label)+(int(n)+7)&^7)}
	default:
		all[2], all[3] = place{label, 32}, place{at, min(textCopied, int(min(n, textCopied)+7)&^7)}
	}
	return all
}
