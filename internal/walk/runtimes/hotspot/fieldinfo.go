// SPDX-License-Identifier: Apache-2.0

package hotspot

import "encoding/binary"

const maxFieldInfo = 1 << 12 // elements: bytes, or u2 with field tuples

func (t *threads) fieldOffset(klass uint64, name, typ string) (at uint64, found bool) {
	m, l := t.vm.memory(), t.layout
	pool := m.word(klass + l.offset("InstanceKlass::_constants"))
	count := uint64(uint32(m.int32(pool + l.offset("ConstantPool::_length"))))
	if m.err != nil || pool%8 != 0 {
		return 0, false
	}
	is := func(index uint32, want string) bool {
		if uint64(index) >= count {
			return false
		}
		got, err := t.methods.symbolBytes(t.vm.memory().word(pool + l.sizes["ConstantPool"] + 8*uint64(index)))
		return err == nil && string(got) == want
	}
	t.eachField(klass, func(f fieldInfo) bool {
		if !f.injected && is(f.name, name) && is(f.typ, typ) {
			at, found = uint64(f.offset), f.offset >= 8 && f.offset < maxInObject
			return false
		}
		return true
	})
	return at, found
}

// injectedOffset is of the field that the JVM has added at an index, or 0 if there is none.
func (t *threads) injectedOffset(klass uint64, index int) (at uint64) {
	t.eachField(klass, func(f fieldInfo) bool {
		if f.injected {
			if index--; index < 0 {
				at = uint64(f.offset)
			}
		}
		return at == 0
	})
	return at
}

func (t *threads) eachField(klass uint64, f func(fieldInfo) bool) {
	m, l := t.vm.memory(), t.layout
	list := m.word(klass + l.offset(l.fieldInfo[0]))
	size := uint64(uint32(m.int32(list + l.offset("Array<int>::_length"))))
	if m.err != nil || size > maxFieldInfo {
		return
	}
	each := eachFieldInfo
	unit, data := uint64(1), "Array<u1>::_data"
	if len(l.fieldInfo) == 2 {
		each, unit, data = eachFieldTuple, 2, "Array<u2>::_data"
		var b [2]byte
		m.bytes(klass+l.offset(l.fieldInfo[1]), b[:])
		size = min(size, fieldTuple*uint64(binary.LittleEndian.Uint16(b[:])))
	}
	b := make([]byte, unit*size)
	if m.bytes(list+l.offset(data), b) {
		each(b, t.vm.nameLayout.excludedCodes, t.vm.nameLayout.major, f)
	}
}

type fieldInfo struct {
	name, typ, offset uint32
	injected          bool // by the JVM; name and typ are no constants
}

// Until JDK 20 a field has 16-bit values (fieldInfo.hpp): flags, name, type, value, offset low and high, with a
// two-bit tag.
const fieldTuple = 6

func eachFieldTuple(b []byte, _ byte, _ int, f func(fieldInfo) bool) {
	for ; len(b) >= 2*fieldTuple; b = b[2*fieldTuple:] {
		u := func(i int) uint32 { return uint32(binary.LittleEndian.Uint16(b[2*i:])) }
		if u(4)&3 != 1 {
			continue
		}
		if !f(fieldInfo{u(1), u(2), (u(5)<<16 | u(4)) >> 2, false}) {
			return
		}
	}
}

// Field flags since JDK 21 (fieldInfo.hpp), each with one more number.
const (
	fieldInitialized = 1 << 0
	fieldGeneric     = 1 << 2
	fieldContended   = 1 << 4

	valueFlags     = 3
	valueFlagsFrom = 28
)

// eachFieldInfo calls f for each field of a stream, until f returns false. Since JDK 21 the stream has counts of own
// and injected fields; name, type, offset, access and flags of each. A field of unknown form ends it.
func eachFieldInfo(b []byte, excluded byte, major int, f func(fieldInfo) bool) {
	s := &unsigned5Reader{b: b, excluded: excluded}
	own := s.number()
	all := own + s.number()
	for i := uint32(0); i < all && !s.failed; i++ {
		info := fieldInfo{s.number(), s.number(), s.number(), i >= own}
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
