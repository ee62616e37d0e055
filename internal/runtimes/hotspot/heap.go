// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"strings"
)

// heap is a part of the code cache: its used memory, and the map of its segments.
type heap struct {
	low, high uint64
	segmap    uint64
	log2      uint8
}

// maxHops bounds the way through the map of segments: an entry leads back by at most 254, and blobs have
// megabytes at most.
const maxHops = 4096

// freeSegment marks a segment in the map that belongs to no blob.
const freeSegment = 0xff

// readHeaps lists the heaps of the code cache; none before the virtual machine has made them.
func (v *VM) readHeaps() []heap {
	m, l := v.memory(), v.layout
	at, n := m.word(l.static(l.heaps[0])), int32(1)
	if at == 0 {
		return nil
	}
	list := len(l.heaps) > 1
	var data uint64
	if list {
		n, data = m.int32(at+l.off(l.heaps[1])), m.word(at+l.off(l.heaps[2]))
	}
	var out []heap
	for i := range min(max(n, 0), maxHeaps) {
		if list {
			at = m.word(data + 8*uint64(i))
		}
		mem, segs := at+l.off("CodeHeap::_memory"), at+l.off("CodeHeap::_segmap")
		h := heap{
			low:    m.word(mem + l.off("VirtualSpace::_low")),
			high:   m.word(mem + l.off("VirtualSpace::_high")),
			segmap: m.word(segs + l.off("VirtualSpace::_low")),
			log2:   uint8(m.int32(at + l.off("CodeHeap::_log2_segment_size"))),
		}
		if m.failed || h.low > h.high || h.log2 < 4 || h.log2 > 20 {
			return nil
		}
		out = append(out, h)
	}
	return out
}

// heapOf gives the heap that an address is in, nil if there is none. Heaps grow.
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

// inHeaps looks in those that are known.
func (v *VM) inHeaps(addr uint64) *heap {
	for i := range v.heaps {
		if h := &v.heaps[i]; addr >= h.low && addr < h.high {
			return h
		}
	}
	return nil
}

// block gives the address of the block that an address of the heap is in
// (CodeHeap::find_block_for).
func (h *heap) block(m *memory, addr uint64) (uint64, bool) {
	seg := (addr - h.low) >> h.log2
	window, size := m.window[:], uint64(firstMap) // a piece of the map that ends with the entry in question
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

// firstMap is how much of the map is read at first, in bytes: most methods have less.
const firstMap = 256

// mapOf gives that for an address.
func (h *heap) mapOf(addr uint64) extent {
	seg := (addr - h.low) >> h.log2
	n := min(seg+1, firstMap)
	return extent{h.segmap + seg + 1 - n, n}
}

// blob is what a code blob's header says.
type blob struct {
	begin, end uint64 // of its code
	frame      int32  // size of its frames in words; 0: they differ, or there are none
	complete   int32  // offset in the code behind which a frame is complete
	kind       kind
	stub       bool // written in assembly, though with frames of one size
}

// kind tells how frames of a blob look.
type kind uint8

const (
	kindStub        kind = iota // written in assembly, each in its own way
	kindRoutines                // many of those, made as the machine starts, which last as long as it does
	kindMethod                  // frames of one size
	kindInterpreter             // frames by rbp
	kindAdapter                 // moves arguments between the interpreter's places and the compilers'
	kindDeopt                   // puts interpreted frames in the place of a compiled one
	kindException               // looks for the handler of an exception
	kindHandles                 // goes on to what a method handle stands for
	kindDispatch                // no frames: a jump, with something in a register
)

// kinds are known by the names of the blobs (codeBlob.cpp, nmethod.cpp, vtableStubs.cpp). Those of other names
// have frames of one size, too, if the header says so.
var kinds = map[string]kind{
	"nmethod":                kindMethod,
	"native nmethod":         kindMethod,
	"Interpreter":            kindInterpreter,
	"I2C/C2I adapters":       kindAdapter,
	"DeoptimizationBlob":     kindDeopt,
	"ExceptionBlob":          kindException,
	"MethodHandles adapters": kindHandles,
	"vtable chunks":          kindDispatch,
	"InlineCacheBuffer":      kindDispatch,
}

// routines is how the names of the blobs of [kindRoutines] begin (stubRoutines.cpp).
const routines = "StubRoutines"

// assembly reports whether frames of such blobs can look like anything.
func (k kind) assembly() bool { return k == kindStub || k == kindRoutines }

// lasts reports whether such a blob is there as long as the machine is, so that it need not be looked for once more. In
// it are many places that stacks have in common.
func (k kind) lasts() bool { return k == kindRoutines || k == kindInterpreter }

// maxFrame bounds the size of a frame, in words: 1 MiB.
const maxFrame = 1 << 17

// blobAt gives the blob whose code an address is in; false if there is none.
func (v *VM) blobAt(addr uint64) (blob, bool) {
	h := v.heapOf(addr)
	if h == nil {
		return blob{}, false
	}
	m, l := v.memory(), v.layout
	at, ok := h.block(m, addr)
	head := v.head[:]
	if !ok || !m.bytes(at, head[:v.header]) || head[l.used()] == 0 {
		return blob{}, false
	}
	cb := head[l.sizes["HeapBlock"]:]
	b := blob{
		frame:    max(l.number(cb, "CodeBlob::_frame_size"), 0), // C1 says −1 of a stub without frame
		complete: l.number(cb, "CodeBlob::_frame_complete_offset"),
	}
	b.begin, b.end = l.boundsOf(cb, at+l.sizes["HeapBlock"])
	b.kind = v.named(wordAt(cb[l.off("CodeBlob::_name"):])).kind
	if b.kind == kindStub && b.frame > 0 {
		b.kind, b.stub = kindMethod, true
	}
	return b, b.frame <= maxFrame && addr >= b.begin && addr < b.end && b.begin >= h.low && b.end <= h.high
}

// boundsOf gives those of the code of a blob whose header is at an address.
func (l *layout) boundsOf(header []byte, at uint64) (begin, end uint64) {
	from, to := l.bounds[0], l.bounds[1]
	if from == wantBounds[0][0] {
		return wordAt(header[l.off(from):]), wordAt(header[l.off(to):])
	}
	return at + uint64(max(l.number(header, from), 0)), at + uint64(max(l.number(header, to), 0))
}

// used gives the place, from the block's start, of the byte that says whether it holds a blob.
func (l *layout) used() uint64 {
	return l.off("HeapBlock::_header") + l.off("HeapBlock::Header::_used")
}

// maxHeader bounds the size of both headers together, in bytes.
const maxHeader = 512

// headerSize gives it; false if it is larger, or not what it can be.
func (l *layout) headerSize() (uint64, bool) {
	block, end := l.sizes["HeapBlock"], l.used()+1
	for name := range l.fields {
		if at := l.off(name); strings.HasPrefix(name, "CodeBlob::") {
			if at > maxHeader || block > maxHeader {
				return 0, false
			}
			end = max(end, block+at+8)
		}
	}
	return end, end <= maxHeader
}

// maxKinds bounds the names that are remembered; there are a few dozen.
const maxKinds = 1 << 10

// blobName is what the name of a blob says. native: it is a wrapper around a native method.
type blobName struct {
	kind   kind
	native bool
}

// named tells it by the address of the name. The error is that of v.mem.
func (v *VM) named(name uint64) blobName {
	k, ok := v.kinds[name]
	if ok {
		return k
	}
	m := v.memory()
	text := m.name(name)
	if k.kind, k.native = kinds[text], text == nativeMethod; strings.HasPrefix(text, routines) {
		k.kind = kindRoutines
	}
	if !m.failed && len(v.kinds) < maxKinds {
		v.kinds[name] = k
	}
	return k
}

// wordAt reads 8 bytes.
func wordAt(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// int32At reads 4 bytes.
func int32At(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }
