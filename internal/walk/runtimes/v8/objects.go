// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"unicode/utf16"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// # Objects
//
// A word is a small integer shifted left by 32, or an object's address plus one, plus three if weak
// (src/objects/tagged.h). An object begins with the address of its map or, while it is moved, its new untagged
// address (MapWord in src/objects/objects.h).

const (
	heapObjectTag     = 1
	heapObjectTagMask = 3
	weakHeapObjectTag = 3
	instanceType      = 12 // in a map
)

func isObject(w uint64) bool { return w&heapObjectTagMask == heapObjectTag && w > 1<<12 && w < 1<<48 }

func smiValue(w uint64) (int, bool) { return int(int64(w) >> 32), w<<32 == 0 }

type heap struct {
	build *v8Build
	host  managed.Host
	live  managed.Live
	parts []frames.Region
	// instructionStreamMap is the last one found, or 0.
	instructionStreamMap uint64
	maps                 map[uint64]uint16 // except maps made by programs
	buf                  [256]byte
	stringsLeft          int
}

const maxMaps = 1 << 10

func (h *heap) word(at uint64) uint64 {
	if h.live.Read(at, h.buf[:8]) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(h.buf[:])
}

func (h *heap) field(object, offset uint64) uint64 { return h.word(object - heapObjectTag + offset) }

// Up to V8 9 each isolate has its own map.
func (h *heap) isInstructionStreamMap(w uint64) bool {
	if h.instructionStreamMap != 0 && (w == h.instructionStreamMap || h.build.atLeast(10, 0)) {
		return w == h.instructionStreamMap
	}
	return h.typeOf(w) == h.build.types.instructionStream
}

// noType is above all types. 0 is that of an internalized two-byte string.
const noType = 0xffff

// object returns the object of a word, even if moved, and its type.
func (h *heap) object(w uint64) (object uint64, typ uint16) {
	if !isObject(w) {
		return 0, noType
	}
	first := h.word(w - heapObjectTag)
	if first&heapObjectTag == 0 && first != 0 { // moved
		w = first | heapObjectTag
		if first = h.word(w - heapObjectTag); !isObject(w) {
			return 0, noType
		}
	}
	return w, h.typeOf(first)
}

func (h *heap) typeOf(m uint64) uint16 {
	if !isObject(m) {
		return noType
	}
	if t, ok := h.maps[m]; ok {
		return t
	}
	var b [instanceType + 2]byte
	if h.live.Read(m-heapObjectTag, b[:]) != len(b) {
		return noType
	}
	typ := binary.LittleEndian.Uint16(b[instanceType:])
	metaMap := binary.LittleEndian.Uint64(b[:])
	if !isObject(metaMap) || h.live.Read(metaMap-heapObjectTag+instanceType, b[:2]) != 2 ||
		binary.LittleEndian.Uint16(b[:]) != h.build.types.mapType {
		return noType
	}
	if typ < h.build.types.firstFunction { // programs make later ones
		cache.Put(&h.maps, maxMaps, m, typ)
	}
	return typ
}

func (h *heap) ofType(w uint64, typ uint16) (object uint64, ok bool) {
	if object, got := h.object(w); got == typ && typ != 0 {
		return object, true
	}
	return 0, false
}

func (h *heap) isFunction(w uint64) (object uint64, ok bool) {
	object, got := h.object(w)
	return object, got >= h.build.types.firstFunction && got <= h.build.types.lastFunction
}

// readParts clears unreadable parts, and then returns false.
func (h *heap) readParts(parts []frames.Region) bool {
	return managed.ReadRegions(h.host, h.live, parts, func(p *frames.Region) { clear(p.Bytes) })
}

// # Strings (src/objects/string.tq, instance-type.h)

const (
	firstNonstring     = 0x80
	representationMask = 7 // bits of the representation
	oneByteString      = 8
	uncachedExternal   = 0x10

	seqString      = 0
	consString     = 1
	externalString = 2
	slicedString   = 3
	thinString     = 5

	stringLength = 12
	stringData   = 16 // characters, first part, parent, or resource
	stringSecond = 24 // second part, offset, or external characters
)

// nonstring is the first type that is no string's.
func (h *heap) nonstring() uint16 {
	if h.build.atLeast(10, 0) {
		return firstNonstring
	}
	return firstNonstring / 2
}

const (
	maxDepth   = 48
	maxStrings = 1 << 12
	maxName    = 1 << 10 // characters
)

// text returns the first maxName characters.
func (h *heap) text(w uint64) (string, bool) {
	raw, wide, ok := h.characters(w, 0, maxName)
	if !ok {
		return "", false
	}
	return string(utf16.Decode(wideUnits(widened(raw, wide)))), true
}

// characters reads at most most characters from a place on: one byte each, two if wide.
func (h *heap) characters(w uint64, from, most int) (b []byte, wide, ok bool) {
	h.stringsLeft = maxStrings
	return h.stringBytes(w, from, most, 0)
}

func (h *heap) stringBytes(w uint64, from, most, depth int) (b []byte, wide, ok bool) {
	object, typ := h.object(w)
	if object == 0 || typ >= h.nonstring() || depth > maxDepth || h.stringsLeft == 0 {
		return nil, false, false
	}
	h.stringsLeft--
	var head [stringSecond + 8]byte
	n := h.live.Read(object-heapObjectTag, head[:]) // fewer if a short string ends its page
	length := int(int32(binary.LittleEndian.Uint32(head[stringLength:]))) - from
	if n < stringData || length < 0 {
		return nil, false, false
	}
	length = min(length, most)
	unit := 1
	if wide = typ&oneByteString == 0; wide {
		unit = 2
	}
	first, second := binary.LittleEndian.Uint64(head[stringData:]), binary.LittleEndian.Uint64(head[stringSecond:])
	switch form := typ & representationMask; {
	case length == 0:
		return nil, wide, true
	case form == seqString:
		b = h.read(object-heapObjectTag+stringData+uint64(from*unit), length*unit)
		return b, wide, len(b) == length*unit
	case n < len(head):
	case form == externalString && typ&uncachedExternal == 0:
		b = h.read(second+uint64(from*unit), length*unit)
		return b, wide, len(b) == length*unit
	case form == thinString, form == consString && from > 0: // flattened: the second part is empty
		return h.stringBytes(first, from, length, depth+1)
	case form == consString:
		return h.joined(first, second, length, depth+1)
	case form == slicedString:
		if offset, ok := smiValue(second); ok && offset >= 0 {
			return h.stringBytes(first, from+offset, length, depth+1)
		}
	}
	return nil, false, false
}

const readStep = 256 << 10

func (h *heap) read(at uint64, size int) []byte {
	b := make([]byte, min(size, readStep))
	for n := 0; ; {
		n += h.live.Read(at+uint64(n), b[n:])
		if n < len(b) || n == size {
			return b[:n]
		}
		b = append(b, make([]byte, min(size-n, max(n, readStep)))...)
	}
}

func (h *heap) joined(first, second uint64, most, depth int) ([]byte, bool, bool) {
	a, wideA, ok := h.stringBytes(first, 0, most, depth)
	if !ok {
		return nil, false, false
	}
	length := len(a)
	if wideA {
		length /= 2
	}
	if length >= most {
		return a, wideA, true
	}
	b, wideB, ok := h.stringBytes(second, 0, most-length, depth)
	if !ok {
		return nil, false, false
	}
	if wideA != wideB && len(a) > 0 && len(b) > 0 {
		a, b, wideA, wideB = widened(a, wideA), widened(b, wideB), true, true
	}
	if len(a) == 0 {
		return b, wideB, true
	}
	return append(a, b...), wideA, true
}

func wideUnits(b []byte) []uint16 {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return units
}

func widened(b []byte, wide bool) []byte {
	if wide {
		return b
	}
	out := make([]byte, 2*len(b))
	for i, c := range b {
		out[2*i] = c
	}
	return out
}

// array reads an array: its length (a small integer) is at 8, its elements from 16 on.
func (h *heap) array(w uint64, size, most int) []byte {
	object, typ := h.object(w)
	if typ == noType {
		return nil
	}
	length := h.field(object, 8)
	n, ok := smiValue(length)
	if !ok && h.build.atLeast(14, 0) {
		n, ok = int(uint32(length)), true
	}
	if !ok || n <= 0 || n > most {
		return nil
	}
	return h.read(object-heapObjectTag+16, n*size)
}
