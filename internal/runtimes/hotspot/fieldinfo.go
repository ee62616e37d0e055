// SPDX-License-Identifier: Apache-2.0

package hotspot

import "encoding/binary"

// field gives the offset of a class's field in its objects, by its name and type; false if it is not found. The first
// of that name and type is it: a class has one.
func (t *threads) field(klass uint64, name, typ string) (uint64, bool) {
	m, l := t.n.v.memory(), t.l
	pool := m.word(klass + l.off("InstanceKlass::_constants"))
	list := m.word(klass + l.off(l.fieldInfo[0]))
	size := uint64(uint32(m.int32(list + l.off("Array<int>::_length"))))
	count := uint64(uint32(m.int32(pool + l.off("ConstantPool::_length"))))
	if m.failed || pool%8 != 0 || size > maxFieldInfo {
		return 0, false
	}
	is := func(index uint32, want string) bool {
		if uint64(index) >= count {
			return false
		}
		m := t.n.v.memory()
		symbol := m.word(pool + l.sizes["ConstantPool"] + 8*uint64(index))
		if m.failed {
			return false
		}
		got, ok := t.n.text(symbol)
		return ok && got == want
	}
	found, at := uint64(0), false
	each := eachFieldInfo
	unit, data := uint64(1), "Array<u1>::_data"
	if len(l.fieldInfo) == 2 {
		each, unit, data = eachFieldTuple, 2, "Array<u2>::_data"
		var b [2]byte
		m.bytes(klass+l.off(l.fieldInfo[1]), b[:])
		size = min(size, fieldTuple*uint64(binary.LittleEndian.Uint16(b[:])))
	}
	b := make([]byte, unit*size)
	if !m.bytes(list+l.off(data), b) {
		return 0, false
	}
	each(b, t.n.l.least, t.n.l.major, func(f fieldInfo) bool {
		if is(f.name, name) && is(f.typ, typ) {
			found, at = uint64(f.offset), f.offset >= 8 && f.offset < maxInObject
			return false
		}
		return true
	})
	return found, at
}

// fieldInfo is what a class says of one of its fields: indexes of constants, and the offset in its objects.
type fieldInfo struct{ name, typ, offset uint32 }

// fieldTuple is how many numbers of 16 bits a field has until JDK 20 (fieldInfo.hpp). They are flags, name, type,
// value, and the offset in two halves, whose lowest two bits say that it is one.
const fieldTuple = 6

func eachFieldTuple(b []byte, _ byte, _ int, f func(fieldInfo) bool) {
	for ; len(b) >= 2*fieldTuple; b = b[2*fieldTuple:] {
		u := func(i int) uint32 { return uint32(binary.LittleEndian.Uint16(b[2*i:])) }
		if u(4)&3 != 1 {
			continue
		}
		if !f(fieldInfo{u(1), u(2), (u(5)<<16 | u(4)) >> 2}) {
			return
		}
	}
}

// Flags of a field from JDK 21 on (fieldInfo.hpp): each of these has one more number in the stream. From JDK 28 on
// there are three flags before them, of fields of value classes, which have further numbers.
const (
	fieldInitialized = 1 << 0
	fieldGeneric     = 1 << 2
	fieldContended   = 1 << 4

	valueFlags     = 3
	valueFlagsFrom = 28
)

// eachFieldInfo reads the stream of JDK 21 on: how many fields are the class's own, how many the machine's, and of each
// name, type, offset, access and flags. It ends at a field of which it is not known how many numbers it has.
func eachFieldInfo(b []byte, least byte, major int, f func(fieldInfo) bool) {
	s := &stream{b: b, least: least}
	own := s.number()
	s.number()
	for i := uint32(0); i < own && !s.failed; i++ {
		info := fieldInfo{s.number(), s.number(), s.number()}
		s.number()
		flags := s.number()
		unknown := false
		if major >= valueFlagsFrom {
			unknown = flags&(1<<valueFlags-1) != 0
			flags >>= valueFlags
		}
		for _, more := range []uint32{fieldInitialized, fieldGeneric, fieldContended} {
			if flags&more != 0 {
				s.number()
			}
		}
		if s.failed || !f(info) || unknown {
			return
		}
	}
}
