// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// # Proof of a thread's name
//
// A collector moves objects. So the path from the JavaThread to its name is read twice and must be equal, without a
// stop-the-world collection. ZGC references must be current; each object must have the expected class.

type namePath struct {
	id                threadID
	object, str, text uint64
	colours           colours
	name              string
}

const maxUnits = 256 // of a name

func (t *threads) proveName(id threadID) (string, bool) {
	if !t.noPause {
		return "", false
	}
	first, ok := t.readNamePath(id.thread)
	if !ok || first.id != id {
		return "", false
	}
	t.vm.cached.reread()
	if again, ok := t.readNamePath(id.thread); !ok || again != first {
		return "", false
	}
	t.vm.cached.bypass()
	after, noPause := t.readCollections()
	return first.name, noPause && after == t.collected
}

// readCollections returns the number of collections. If noPause, none is stopping the threads.
func (t *threads) readCollections() (n int32, noPause bool) {
	l := t.layout
	m := t.vm.memory()
	heap := m.word(l.staticAddress("Universe::_collectedHeap"))
	n = m.int32(heap + l.offset("CollectedHeap::_total_collections"))
	var active [1]byte
	m.bytes(heap+l.offset("CollectedHeap::_is_stw_gc_active"), active[:])
	return n, m.err == nil && heap != 0 && active[0] == 0
}

// readNamePath follows the references from a JavaThread to its name; it returns false if one is stale, or leads to
// another class.
func (t *threads) readNamePath(thread uint64) (w namePath, ok bool) {
	if w.id, ok = t.identify(thread); !ok {
		return w, false
	}
	if w.colours, ok = t.readColours(); !ok {
		return w, false
	}
	ref, ok := t.handled("JavaThread::_threadObj", w.id.object)
	if !ok {
		return w, false
	}
	if w.object, ok = t.resolve(w.colours, ref); !ok || w.object == 0 || !t.isThread(w.object) {
		return w, false
	}
	if w.str, ok = t.readReferenceTo(w.colours, w.object+t.oops.name, t.isString); !ok {
		return w, false
	}
	if w.text, ok = t.readReferenceTo(w.colours, w.str+t.oops.value, t.isText); !ok {
		return w, false
	}
	w.name, ok = t.readCharacters(&w)
	return w, ok
}

func (t *threads) readCharacters(w *namePath) (string, bool) {
	o, m := &t.oops, t.vm.memory()
	size := uint64(uint32(m.int32(w.text+o.lengthAt()))) * o.unit
	var coder [1]byte
	if o.coder != 0 {
		m.bytes(w.str+o.coder, coder[:])
	}
	if m.err != nil || size == 0 || size > 2*maxUnits || coder[0] > 1 {
		return "", false
	}
	b := t.buf[:size]
	if !m.bytes(w.text+o.content, b) {
		return "", false
	}
	return characters(b, o.unit == 2 || coder[0] == 1)
}

// characters decodes Latin-1 or UTF-16 (wide); it returns false if it is not printable.
func characters(b []byte, wide bool) (string, bool) {
	width := 1
	if wide {
		width = 2
	}
	var units []uint16
	for ; len(b) >= width; b = b[width:] {
		unit := uint16(b[0])
		if wide {
			unit |= uint16(b[1]) << 8
		}
		units = append(units, unit)
	}
	out := string(utf16.Decode(units))
	bad := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	return out, out != "" && !strings.ContainsFunc(out, bad)
}
