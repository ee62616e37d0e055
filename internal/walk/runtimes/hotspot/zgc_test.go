// SPDX-License-Identifier: Apache-2.0

package hotspot

import "testing"

// zgc is a heap of ZGC whose page at 0 has moved objects in young, and that at 1<<granuleShift in old.
type zgc struct {
	*threaded
	t *threads
}

const (
	youngObject, oldObject = 0x40, 1<<granuleShift + 0x80
	toYoung, toOld         = 0x300000, 0x300100
	notMovedYet            = 0x48
	keptObject             = 2<<granuleShift + 0x10
	heapBase               = 1 << 42
)

func newZGC(t *testing.T) *zgc {
	m := newThreaded(t, "JDK 25")
	l := m.n.vm.layout
	for i, name := range wantZ[:entriesLength+1] {
		l.fields[name] = field{offset: [...]uint64{offsetMask: 16, collectorHeap: 24, granuleMap: 8, forwardedPage: 8,
			alignment: 24, forwardingEntries: 32, entriesLength: 0}[i], size: 8}
	}
	l.fields[wantGenerations[0]], l.fields[wantGenerations[1]] = field{offset: 0, size: 8}, field{offset: 16, size: 8}
	l.sizes["ZHeap"], l.sizes["ZForwarding"] = 160, 44
	globals := m.word(l.staticAddress(wantColours[0][0]))
	mask := m.take(8)
	m.put(mask, heapBase-1)
	m.put(globals+16, mask)
	heap := m.take(24+160) + 24
	m.put(l.staticAddress("Universe::_collectedHeap"), heap-24)
	for id, page := range []uint64{1: 1 << granuleShift, 0: 0} {
		granules, at := m.take(8*4), heap+40+uint64(id)*48
		for i, word := range []uint64{uint64(id), heap, heap + 16, 4, granules} {
			m.put(at+uint64(8*i), word)
		}
		forwarding := m.take(48 + 8*8)
		m.put(granules+page>>granuleShift*8, forwarding)
		m.put(forwarding+8, page)
		m.put(forwarding+24, 3)
		m.put(forwarding+32, 8)
		from, to := uint64(youngObject), uint64(toYoung)
		if id == 1 {
			from, to = oldObject-page, toOld
		}
		index := from >> 3
		m.put(forwarding+48+8*uint64(hashOfIndex(uint32(index))&7), index<<46|to<<1|1)
	}
	return &zgc{threaded: m, t: &m.n.threads}
}

func TestStaleReferencesLeadToWhereZGCMovedTheObject(t *testing.T) {
	z := newZGC(t)
	if !z.n.threadsReady() {
		t.Fatal("no threads")
	}
	c := colours{kind: zGenerational, staleBits: 0xe << remapShift, shift: remapShift + 1} // good: colour 0
	ref := func(colour, offset, rest uint64) uint64 {
		if offset != 0 {
			offset |= heapBase
		}
		return offset<<(remapShift+1+colour) | 1<<(remapShift+colour) | rest
	}
	const unknown = 1
	for what, want := range map[string]struct{ ref, at uint64 }{
		"current":                      {ref(0, youngObject, 0), heapBase | youngObject},
		"moved in young":               {ref(1, youngObject, 0), heapBase | toYoung},
		"moved in old":                 {ref(2, oldObject, 0), heapBase | toOld},
		"of either, moved in young":    {ref(3, youngObject, 0), heapBase | toYoung},
		"of either, moved in old":      {ref(3, oldObject, 0), heapBase | toOld},
		"from old to old":              {ref(3, youngObject, 3<<rememberShift), heapBase | youngObject},
		"current in young":             {ref(2, youngObject, 0), heapBase | youngObject},
		"of a page that was not moved": {ref(3, keptObject, 0), heapBase | keptObject},
		"not moved yet":                {ref(1, notMovedYet, 0), unknown},
		"outside of the heap":          {ref(1, 5<<granuleShift, 0), unknown},
		"null":                         {ref(3, 0, 0), 0},
		"of two colours":               {ref(1, youngObject, 0) | 1<<(remapShift+2), unknown},
	} {
		at, ok := z.t.resolve(c, want.ref)
		if want.at == unknown && ok || want.at != unknown && (!ok || at != want.at) {
			t.Errorf("%s: %#x, %v, want %#x", what, at, ok, want.at)
		}
	}
}
