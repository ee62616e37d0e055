// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"strings"

	"prywalk/internal/base/cache"
)

// # Code cache
//
//	heap           │ segment │ segment │ segment │ …
//	segment map    │    0    │    1    │    2    │ …   a byte each: how many segments back the block begins; 255: free
//	block          │ HeapBlock header │ CodeBlob header │ code │ …
//
// Since JDK 9 there are several heaps.

type heap struct {
	low, high uint64
	segmap    uint64
	log2      uint8
}

const maxHops = 4096

const freeSegment = 0xff

func (v *VM) readHeaps() []heap {
	m, l := v.memory(), v.layout
	at, n := m.word(l.staticAddress(l.heaps[0])), int32(1)
	defer func() { v.unread = v.unread || m.err != nil }()
	if at == 0 {
		return nil
	}
	list := len(l.heaps) > 1
	var data uint64
	if list {
		n, data = m.int32(at+l.offset(l.heaps[1])), m.word(at+l.offset(l.heaps[2]))
	}
	var out []heap
	for i := range min(max(n, 0), maxHeaps) {
		if list {
			at = m.word(data + 8*uint64(i))
		}
		mem, segs := at+l.offset("CodeHeap::_memory"), at+l.offset("CodeHeap::_segmap")
		h := heap{
			low:    m.word(mem + l.offset("VirtualSpace::_low")),
			high:   m.word(mem + l.offset("VirtualSpace::_high")),
			segmap: m.word(segs + l.offset("VirtualSpace::_low")),
			log2:   uint8(m.int32(at + l.offset("CodeHeap::_log2_segment_size"))),
		}
		if m.err != nil || h.low > h.high || h.log2 < 4 || h.log2 > 20 {
			return nil
		}
		out = append(out, h)
	}
	return out
}

// heapOf returns the heap of an address, nil if there is none, or its code is unproven. Heaps grow: a miss reads them
// again.
func (v *VM) heapOf(addr uint64) *heap {
	if h := v.inHeaps(addr); h != nil && v.proven() {
		return h
	}
	v.heaps = v.readHeaps()
	if h := v.inHeaps(addr); h != nil && v.proven() {
		return h
	}
	return nil
}

func (v *VM) inHeaps(addr uint64) *heap {
	for i := range v.heaps {
		if h := &v.heaps[i]; addr >= h.low && addr < h.high {
			return h
		}
	}
	return nil
}

// hasGrownTo reads the heaps again, and reports whether the one at low has end. A heap grows by 64 KiB
// (CodeHeap::expand_by), often within a new blob, whose first addresses were in the heap before.
func (v *VM) hasGrownTo(end, low uint64) bool {
	v.heaps = v.readHeaps()
	h := v.inHeaps(low)
	return h != nil && end <= h.high
}

func (h *heap) block(m *memory, addr uint64) (uint64, bool) {
	seg := (addr - h.low) >> h.log2
	window, size := m.window[:], uint64(firstMap) // ends at addr's entry
	from, have := uint64(0), 0
	for range maxHops {
		if have == 0 || seg < from {
			have = int(min(seg+1, size))
			from, size = seg+1-uint64(have), uint64(len(window))
			if !m.bytes(h.segmap+from, window[:have]) {
				return 0, false
			}
		}
		switch back := uint64(window[seg-from]); {
		case back == freeSegment, back > seg:
			return 0, false
		case back == 0:
			return h.low + seg<<h.log2, true
		default:
			seg -= back
		}
	}
	return 0, false
}

const firstMap = 256

type blob struct {
	begin, end uint64
	frameWords int32 // 0 means none or several sizes
	completeAt int32 // offset of the complete frame
	kind       kind
	stub       bool // of kindMethod: assembly with one frame size
}

type kind uint8

const (
	kindStub kind = iota // assembly without a frame size in its header
	kindStubRoutines
	kindMethod // or a stub with one frame size
	kindNative // a method; only by kindNamed
	kindInterpreter
	kindAdapter // converts arguments
	kindDeopt   // replaces a compiled frame
	kindException
	kindMethodHandles // continues at a target
	kindDispatch      // no frames
)

// kinds are by blob name (codeBlob.cpp, nmethod.cpp, vtableStubs.cpp). Other blobs have their header's frame size.
var kinds = map[string]kind{
	"nmethod":                kindMethod,
	"native nmethod":         kindNative,
	"Interpreter":            kindInterpreter,
	"I2C/C2I adapters":       kindAdapter,
	"DeoptimizationBlob":     kindDeopt,
	"ExceptionBlob":          kindException,
	"MethodHandles adapters": kindMethodHandles,
	"vtable chunks":          kindDispatch,
	"InlineCacheBuffer":      kindDispatch,
}

// routines begins the names of blobs with several routines (stubRoutines.cpp).
const routines = "StubRoutines"

func (k kind) isAssembly() bool { return k == kindStub || k == kindStubRoutines }

// maxFrame is in words: 1 MiB.
const maxFrame = 1 << 17

func (v *VM) blobAt(addr uint64) (blob, bool) {
	h := v.heapOf(addr)
	if h == nil {
		return blob{}, false
	}
	m, l := v.memory(), v.layout
	at, ok := h.block(m, addr)
	head := v.head[:]
	if !ok || !m.bytes(at, head[:v.blockBytes]) || head[l.usedOffset()] == 0 {
		return blob{}, false
	}
	cb := head[l.sizes["HeapBlock"]:]
	b := blob{
		frameWords: max(l.number(cb, "CodeBlob::_frame_size"), 0), // −1 in C1's stubs without frame
		completeAt: l.number(cb, "CodeBlob::_frame_complete_offset"),
	}
	b.begin, b.end = l.boundsOf(cb, at+l.sizes["HeapBlock"])
	switch b.kind = v.kindNamed(wordAt(cb[l.offset("CodeBlob::_name"):])); {
	case b.kind == kindNative:
		b.kind = kindMethod
	case b.kind == kindStub && b.frameWords > 0:
		b.kind, b.stub = kindMethod, true
	}
	if b.frameWords > maxFrame || addr < b.begin || addr >= b.end || b.begin < h.low {
		return blob{}, false
	}
	return b, b.end <= h.high || v.hasGrownTo(b.end, h.low)
}

func (l *layout) boundsOf(header []byte, at uint64) (begin, end uint64) {
	from, to := l.bounds[0], l.bounds[1]
	if from == wantBounds[0][0] {
		return wordAt(header[l.offset(from):]), wordAt(header[l.offset(to):])
	}
	return at + uint64(max(l.number(header, from), 0)), at + uint64(max(l.number(header, to), 0))
}

func (l *layout) usedOffset() uint64 {
	return l.offset("HeapBlock::_header") + l.offset("HeapBlock::Header::_used")
}

const maxHeader = 512

func (l *layout) headerSize() (uint64, bool) {
	block := l.sizes["HeapBlock"]
	end := max(l.usedOffset()+1, block+l.endOf("CodeBlob"))
	return end, block <= maxHeader && end <= maxHeader
}

// endOf returns the end of a type's last field that is known.
func (l *layout) endOf(typ string) (end uint64) {
	for name, f := range l.fields {
		if strings.HasPrefix(name, typ+"::") {
			end = max(end, f.offset+8)
		}
	}
	return end
}

const maxKinds = 1 << 10

// kindNamed returns the kind of blobs whose name is at an address.
func (v *VM) kindNamed(name uint64) kind {
	b, ok := v.kinds[name]
	if ok {
		return b
	}
	m := v.memory()
	text := m.name(name)
	if b = kinds[text]; strings.HasPrefix(text, routines) {
		b = kindStubRoutines
	}
	if m.err == nil {
		cache.Put(&v.kinds, maxKinds, name, b)
	}
	return b
}
