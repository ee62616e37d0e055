// SPDX-License-Identifier: Apache-2.0

package hotspot

import "math/bits"

// # Stale references of ZGC
//
// A reference that the program has not loaded since ZGC moved objects keeps its colour, until the next collection: in a
// program that hangs, for good. Forwarding tables have an entry for each page whose objects were moved
// (gc/z/zForwarding.hpp); an object of any other page is where it was. There is one table, or one for each generation
// (JDK 21 on), kept until no reference needs it.

// colours are ZGC's bits of a stale reference, and the number of bits below its address; 0 with other collectors.
type colours struct {
	staleBits, shift uint64
	kind             collectorKind
}

type collectorKind uint8

const (
	notZGC collectorKind = iota
	zGenerational
	zSingle // without generations, until JDK 20
	xSingle // the same in JDK 21 to 23
)

// ZGC: the bits of a stale reference, and its shift, by collectorKind − 1.
var wantColours = [][]string{
	{"ZGlobalsForVMStructs::_instance_p", "ZGlobalsForVMStructs::_ZPointerLoadBadMask",
		"ZGlobalsForVMStructs::_ZPointerLoadShift"},
	{"ZGlobalsForVMStructs::_instance_p", "ZGlobalsForVMStructs::_ZAddressBadMask"},
	{"XGlobalsForVMStructs::_instance_p", "XGlobalsForVMStructs::_XAddressBadMask"},
}

var (
	wantZ           = forwardingFields("Z")
	wantX           = forwardingFields("X")
	wantGenerations = []string{"ZHeap::_page_allocator", "ZHeap::_page_table"}
	forwardingSizes = []string{"ZForwarding", "XForwarding", "ZHeap"}
)

// Indices of forwardingFields, those of colours up to goodMask.
const (
	offsetMask = iota
	collectorHeap
	granuleMap
	pageStart
	forwardedPage
	alignment
	forwardingEntries
	entriesLength
	metadataMask // of single-generation ZGC
	goodMask
	forwardingTable
)

// forwardingFields are the names of fields in the JVM's tables. Those up to entriesLength are in all releases of ZGC,
// the rest only in single-generation ZGC.
func forwardingFields(c string) []string {
	return []string{
		c + "GlobalsForVMStructs::_" + c + "AddressOffsetMask", c + "CollectedHeap::_heap",
		c + "GranuleMapForForwarding::_map", c + "VirtualMemory::_start", c + "Forwarding::_virtual",
		c + "Forwarding::_object_alignment_shift", c + "Forwarding::_entries", c + "AttachedArrayForForwarding::_length",
		c + "GlobalsForVMStructs::_" + c + "AddressMetadataMask", c + "GlobalsForVMStructs::_" + c + "AddressGoodMask",
		c + "Heap::_forwarding_table",
	}
}

// Bits of a reference (gc/z/zAddress.hpp). On x86-64 its address begins above the one colour bit that is set.
const (
	remapShift    = 12 // bits 12 to 15: one for each pair of the generations' colours, old above young
	rememberShift = 4  // bits 4 and 5, both: from an old object to an old one
	granuleShift  = 21 // zGlobals.hpp, ZGranuleSizeShift
)

// ZForwardingEntry: 1 bit populated, 45 bits of the new offset, 18 bits of the old index (gc/z/zForwardingEntry.hpp).
const (
	entryOffsetBits = 45
	maxForwardings  = 1 << 20 // entries of a page
	maxHeapBytes    = 1 << 15 // of ZHeap
)

// forwardings are the addresses of the tables, of single-generation ZGC as young.
type forwardings struct {
	searched   bool
	young, old uint64
}

// readColours returns false if they are unreadable.
func (t *threads) readColours() (c colours, ok bool) {
	m, l := t.vm.memory(), t.layout
	for i, set := range wantColours {
		if !l.has(set) {
			continue
		}
		at := m.word(l.staticAddress(set[0]))
		if at == 0 {
			continue
		}
		if c.staleBits = m.word(m.word(at + l.offset(set[1]))); c.staleBits != 0 && len(set) > 2 {
			c.shift = m.word(m.word(at + l.offset(set[2])))
		}
		if c.staleBits != 0 || m.err != nil {
			c.kind = collectorKind(i + 1)
			break
		}
	}
	return c, m.err == nil && c.shift < 32
}

// decode returns the address in a reference of 8 bytes, or false if it is null or stale.
func (c colours) decode(ref uint64) (uint64, bool) {
	at := ref >> c.shift
	return at, ref&c.staleBits == 0 && at != 0 && at%8 == 0
}

// resolve returns the address of a reference's object, 0 for null, or false if it is unknown as yet.
func (t *threads) resolve(c colours, ref uint64) (object uint64, ok bool) {
	if ref&c.staleBits == 0 {
		at := ref >> c.shift
		return at, at%8 == 0
	}
	switch c.kind {
	case zGenerational:
		return t.resolveGenerational(c, ref)
	case zSingle:
		return t.resolveSingle(wantZ, "ZForwarding", wantColours[1][0], ref)
	case xSingle:
		return t.resolveSingle(wantX, "XForwarding", wantColours[2][0], ref)
	}
	return 0, false
}

func (t *threads) resolveGenerational(c colours, ref uint64) (object uint64, ok bool) {
	good, own := uint8(^c.staleBits>>remapShift&0xf), uint8(ref>>remapShift&0xf)
	if c.staleBits&^(0xf<<remapShift) != 0 || bits.OnesCount8(good) != 1 || bits.OnesCount8(own) != 1 {
		return 0, false
	}
	shift := c.shift
	if !t.vm.isARM64() {
		shift = remapShift + uint64(bits.Len8(own))
	}
	at := ref >> shift
	if at == 0 {
		return 0, true
	}
	differ := (bits.Len8(good) - 1) ^ (bits.Len8(own) - 1)
	young, old := differ&1 != 0, differ&2 != 0
	if young && old && ref>>rememberShift&3 == 3 {
		young = false
	}
	return t.movedTo(at, young, old)
}

// movedTo returns where an object is that was at an address before the last relocation of young or old; it returns
// false if it is unknown as yet. Precondition: generational ZGC.
func (t *threads) movedTo(at uint64, young, old bool) (object uint64, ok bool) {
	f, ok := t.generations()
	if !ok || at%8 != 0 {
		return 0, false
	}
	mask, ok := t.global(wantZ[offsetMask], wantColours[0][0])
	if !ok {
		return 0, false
	}
	moved := false
	offset := at & mask
	if young {
		offset, moved, ok = t.forward(wantZ, "ZForwarding", f.young, offset)
	}
	if old && !moved && ok {
		offset, _, ok = t.forward(wantZ, "ZForwarding", f.old, offset)
	}
	return at&^mask | offset, ok
}

// resolveSingle: a reference has one of the colours marked0, marked1 and remapped, the third bit of the metadata. A
// remapped one that is stale is only not marked yet.
func (t *threads) resolveSingle(fields []string, forwarding, globals string, ref uint64) (object uint64, ok bool) {
	if !t.layout.has(fields) {
		return 0, false
	}
	mask, ok1 := t.global(fields[offsetMask], globals)
	metadata, ok2 := t.global(fields[metadataMask], globals)
	good, ok3 := t.global(fields[goodMask], globals)
	offset, remapped := ref&mask, metadata&-metadata<<2
	if offset == 0 || !ok1 || !ok2 || !ok3 || offset%8 != 0 {
		return 0, offset == 0
	}
	if ref&remapped == 0 {
		m := t.vm.memory()
		heap := t.heapAddress(m, fields[collectorHeap])
		table := heap + t.layout.offset(fields[forwardingTable])
		if offset, _, ok = t.forward(fields, forwarding, table, offset); m.err != nil || !ok {
			return 0, false
		}
	}
	return good | offset, true
}

func (t *threads) global(field, instance string) (uint64, bool) {
	m := t.vm.memory()
	v := m.word(m.word(m.word(t.layout.staticAddress(instance)) + t.layout.offset(field)))
	return v, m.err == nil && v != 0
}

func (t *threads) heapAddress(m *memory, field string) uint64 {
	return m.word(t.layout.staticAddress("Universe::_collectedHeap")) + t.layout.offset(field)
}

// generations finds the generations in ZHeap. A generation has its id, the heap's page allocator and page table, and
// its forwarding table (gc/z/zGeneration.hpp).
func (t *threads) generations() (forwardings, bool) {
	f, l := &t.forwardings, t.layout
	if f.searched {
		return *f, f.young != 0 && f.old != 0
	}
	size := l.sizes["ZHeap"]
	if !l.has(wantZ[:entriesLength+1]) || !l.has(wantGenerations) || size > maxHeapBytes {
		return *f, false
	}
	m := t.vm.memory()
	heap, text := t.heapAddress(m, wantZ[collectorHeap]), make([]byte, size)
	if !m.bytes(heap, text) {
		return *f, false
	}
	f.searched = true
	allocator, pages := heap+l.offset(wantGenerations[0]), heap+l.offset(wantGenerations[1])
	found := [2]uint64{} // by id: young, old
	for at := 0; at+5*8 <= len(text); at += 8 {
		if wordAt(text[at+8:]) != allocator || wordAt(text[at+16:]) != pages {
			continue
		}
		if id := text[at]; id < 2 && found[id] == 0 {
			found[id] = heap + uint64(at) + 24
		}
	}
	if found[0] != 0 && found[1] != 0 {
		f.young, f.old = found[0], found[1]
	}
	return *f, f.young != 0
}

// forward returns the offset of an object that was at offset. moved means that its page's objects were moved; ok is
// false if it is not moved as yet, or unreadable.
func (t *threads) forward(fields []string, forwarding string, table, offset uint64) (to uint64, moved, ok bool) {
	m, l := t.vm.memory(), t.layout
	granules := table + l.offset(fields[granuleMap])
	granule := offset >> granuleShift
	if granule >= m.word(granules-8) {
		return 0, false, false
	}
	page := m.word(m.word(granules) + 8*granule)
	if m.err != nil || page == 0 {
		return offset, false, m.err == nil
	}
	from := offset - m.word(page+l.offset(fields[forwardedPage])+l.offset(fields[pageStart]))
	from >>= m.word(page+l.offset(fields[alignment])) & 63
	n := m.word(page + l.offset(fields[forwardingEntries]) + l.offset(fields[entriesLength]))
	if m.err != nil || n == 0 || n > maxForwardings || n&(n-1) != 0 || from >= 1<<32 {
		return 0, true, false
	}
	entries := page + (l.sizes[forwarding]+7)&^7
	for i, tried := uint64(hashOfIndex(uint32(from))), uint64(0); tried < n; i, tried = i+1, tried+1 {
		e := m.word(entries + 8*(i&(n-1)))
		if m.err != nil || e&1 == 0 {
			break
		}
		if e>>(entryOffsetBits+1) == from {
			return e >> 1 & (1<<entryOffsetBits - 1), true, true
		}
	}
	return 0, true, false
}

// hashOfIndex is ZHash::uint32_to_uint32 (gc/z/zHash.inline.hpp).
func hashOfIndex(key uint32) uint32 {
	key = ^key + key<<15
	key ^= key >> 12
	key += key << 2
	key ^= key >> 4
	key *= 2057
	return key ^ key>>16
}
