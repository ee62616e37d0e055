// SPDX-License-Identifier: Apache-2.0

package hotspot

// oops is the layout of references and objects, proven by classes.
type oops struct {
	header  header
	wide    bool // references have 8 bytes
	known   bool
	thread  uint64 // java.lang.Thread
	name    uint64 // offset
	str     uint64 // java.lang.String
	value   uint64
	coder   uint64 // 0 means none (JDK 8)
	array   uint64
	content uint64
	unit    uint64 // bytes per element
}

type header uint8

const (
	headerUnknown header = iota
	headerNarrow         // 4 bytes
	headerWide           // 8 bytes
	headerCompact        // mark's upper bits (since JDK 24)
)

const (
	compactShift    = 42 // markWord.hpp, klass_shift
	markMarkedValue = 3  // markWord.hpp, marked_value: moved or being marked
	maxSupers       = 32
	maxInObject     = 1 << 12 // bytes
)

// referenceAt reads a reference of 8 bytes (wide) or 4. It is 0 for null; false if unreadable, or stale and unresolved.
func (t *threads) referenceAt(c colours, at uint64, wide bool) (object uint64, ok bool) {
	m := t.vm.memory()
	if wide {
		ref := m.word(at)
		if m.err != nil {
			return 0, false
		}
		return t.resolve(c, ref)
	}
	narrow := uint64(uint32(m.int32(at)))
	if m.err != nil || narrow == 0 {
		return 0, m.err == nil
	}
	object = t.widen(m, narrow, wantOops)
	return object, m.err == nil && object%8 == 0
}

// readReferenceTo reads a reference of the size that leads to an object that passes test. The first success sets it.
func (t *threads) readReferenceTo(c colours, at uint64, test func(uint64) bool) (uint64, bool) {
	o := &t.oops
	for _, wide := range [...]bool{false, true} {
		if o.known && o.wide != wide || !wide && c.staleBits != 0 {
			continue
		}
		if to, ok := t.referenceAt(c, at, wide); ok && to != 0 && test(to) {
			o.known, o.wide = true, wide
			return to, true
		}
	}
	return 0, false
}

// handled returns the reference in a field, which may have a handle's address in place of it.
func (t *threads) handled(field string, ref uint64) (uint64, bool) {
	m := t.vm.memory()
	if t.layout.fields[field].handle { // since 16
		ref = m.word(ref)
	}
	return ref, m.err == nil
}

func (t *threads) klassOf(object uint64, h header) uint64 {
	m := t.vm.memory()
	mark := m.word(object)
	if m.err != nil || mark&markMarkedValue == markMarkedValue {
		return 0
	}
	at := object + t.layout.offset("oopDesc::_metadata._compressed_klass")
	var narrow uint64
	switch h {
	case headerWide:
		return m.word(at)
	case headerNarrow:
		narrow = uint64(uint32(m.int32(at)))
	default:
		narrow = mark >> compactShift
	}
	klass := t.widen(m, narrow, wantKlasses)
	if m.err != nil || narrow == 0 {
		return 0
	}
	return klass
}

func (t *threads) widen(m *memory, narrow uint64, scheme []string) uint64 {
	base, shift := m.word(t.layout.staticAddress(scheme[0])), m.int32(t.layout.staticAddress(scheme[1]))
	return base + narrow<<(shift&31)
}

func (t *threads) className(klass uint64) string {
	if klass == 0 || klass%8 != 0 {
		return ""
	}
	name, _ := t.methods.symbolBytes(t.vm.memory().word(klass + t.layout.offset("Klass::_name")))
	return string(name)
}

// isThread reports whether object is a java.lang.Thread. The first one found fixes the layout.
func (t *threads) isThread(object uint64) bool {
	o := &t.oops
	for h := headerNarrow; h <= headerCompact; h++ {
		if o.header != headerUnknown && o.header != h {
			continue
		}
		if k := t.threadClass(t.klassOf(object, h)); k != 0 {
			if o.thread == 0 {
				at, ok := t.fieldOffset(k, "name", "Ljava/lang/String;")
				if !ok {
					return false
				}
				o.header, o.thread, o.name = h, k, at
			}
			return true
		}
	}
	return false
}

// threadClass returns java.lang.Thread for it and its subclasses, else 0.
func (t *threads) threadClass(klass uint64) uint64 {
	return t.searchSupers(klass, func(k uint64) bool {
		known := t.oops.thread
		return known == k || known == 0 && t.className(k) == "java/lang/Thread"
	})
}

func (t *threads) searchSupers(klass uint64, test func(klass uint64) bool) uint64 {
	for range maxSupers {
		if klass == 0 || klass%8 != 0 {
			return 0
		}
		if test(klass) {
			return klass
		}
		klass = t.vm.memory().word(klass + t.layout.offset("Klass::_super"))
	}
	return 0
}

func (t *threads) isString(object uint64) bool {
	o := &t.oops
	k := t.klassOf(object, o.header)
	if k == 0 || o.str != 0 {
		return k != 0 && k == o.str
	}
	if t.className(k) != "java/lang/String" {
		return false
	}
	var ok bool
	if o.value, ok = t.fieldOffset(k, "value", "[B"); ok {
		o.coder, ok = t.fieldOffset(k, "coder", "B")
	} else {
		o.value, ok = t.fieldOffset(k, "value", "[C")
	}
	if ok {
		o.str = k
	}
	return ok
}

func (t *threads) isText(object uint64) bool {
	o := &t.oops
	k := t.klassOf(object, o.header)
	if k == 0 || o.array != 0 {
		return k != 0 && k == o.array
	}
	want, element, unit := "[B", uint32(8), uint64(1)
	if o.coder == 0 {
		want, element, unit = "[C", 5, 2
	}
	if t.className(k) != want {
		return false
	}
	// klass.hpp: 0xc0, header size, element type, log2 of its size
	m := t.vm.memory()
	helper := uint32(m.int32(k + t.layout.offset("Klass::_layout_helper")))
	content := uint64(helper >> 16 & 0xff)
	if m.err != nil || helper>>24 != 0xc0 || helper>>8&0xff != element || uint64(1)<<(helper&0xff) != unit ||
		content < o.lengthAt()+4 {
		return false
	}
	o.array, o.content, o.unit = k, content, unit
	return true
}

func (o *oops) lengthAt() uint64 {
	switch o.header {
	case headerWide:
		return 16
	case headerCompact:
		return 8
	default:
		return 12
	}
}

// classOf returns the name of an object's class; of a java.lang.Class also that of the class it stands for, as jstack.
func (t *waiters) classOf(object uint64) string {
	if t.threads.oops.header == headerUnknown && !t.learnOops() {
		return ""
	}
	name := t.threads.className(t.threads.klassOf(object, t.threads.oops.header))
	class := string(readable([]byte(name)))
	if name != "java/lang/Class" || !t.threads.layout.has(wantMirror) {
		return class
	}
	m := t.threads.vm.memory()
	at := uint64(uint32(m.int32(t.threads.layout.staticAddress(wantMirror[0]))))
	if at == 0 || at >= maxInObject {
		return class
	}
	klass := m.word(object + at) // 0 for a primitive type
	if of := t.threads.className(klass); m.err == nil && of != "" {
		return class + " for " + string(readable([]byte(of)))
	}
	return class
}

func (t *waiters) learnOops() bool {
	for _, id := range t.threads.byTID {
		if _, ok := t.threads.readNamePath(id.thread); ok {
			return true
		}
	}
	return false
}

// readReference is referenceAt of the known size.
func (t *waiters) readReference(at uint64) (uint64, bool) {
	if !t.threads.oops.known && !t.learnOops() {
		return 0, false
	}
	c, ok := t.threads.readColours()
	if !ok {
		return 0, false
	}
	return t.threads.referenceAt(c, at, t.threads.oops.wide)
}
