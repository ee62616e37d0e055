// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"hash/maphash"

	"prywalk/internal/base/cache"
)

// # Method
//
//	Method ─► ConstMethod    │ constants, index of the name, sizes, flags │ bytecode │ compressed lines │ …
//	          ConstantPool   │ class, tags │ constants of 8 bytes: Symbols of names, source file │ …
//	          Klass ─► Symbol of the class
//	          Symbol         │ length │ text, modified UTF-8

// A Method's memory is reused after class unloading.
type method struct {
	constMethod  uint64
	bytecodeAt   uint64
	bytecodeSize uint64
	poolCache    uint64 // also in interpreter frames
	cookie       uint64
	name, file   string
	lines        []byte
	firstLine    int
	// in nanoseconds of CLOCK_MONOTONIC.
	since, checked int64
}

type methodNames struct {
	vm        *VM
	validity  *validity
	byAddress map[uint64]*method
	kept      int // bytes

	symbol      [64 + maxSymbol]byte
	spelled     []byte
	full        []byte // for display
	lines       []byte
	constMethod [maxConst + 8]byte
	pool        [maxPool + 8]byte
}

const (
	maxConstMethod = 1 << 20 // bytes: bytecode and tables
	maxConstants   = 1 << 17
	maxSymbol      = 1 << 12 // of a name
	maxLines       = 1 << 16
	maxMethods     = 1 << 16  // cached methods
	maxKept        = 64 << 20 // bytes
)

// JVM_CONSTANT_Utf8.
const constUTF8 = 1

// A flag of a ConstMethod.
const hasLines = 1

var hashSeed = maphash.MakeSeed()

// A later method at the address has another identity.
type methodIdentity struct {
	constMethod, constants, holder uint64
	nameIndex, id                  uint16
	// Valid until the next identify: the names, the starts of ConstMethod and ConstantPool.
	name, class, constMethodHead, pool []byte
}

// cookie returns a hash of id, never 0.
func (id *methodIdentity) cookie() uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	var words [40]byte
	b := words[:0]
	for _, v := range [...]uint64{id.constMethod, id.constants, id.holder, uint64(id.nameIndex), uint64(id.id)} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	_, _ = h.Write(b)
	_, _ = h.Write(id.class)
	_ = h.WriteByte(0)
	_, _ = h.Write(id.name)
	return h.Sum64() | 1
}

// identify reads the identity of the Method at an address.
func (n *methodNames) identify(addr uint64) (id methodIdentity, err error) {
	l, m := n.vm.nameLayout, n.vm.memory()
	m.expect("Method", addr)
	id.constMethod = m.word(addr + l.offset("Method::_constMethod"))
	cm := n.constMethod[:l.sizes["ConstMethod"]+8]
	m.expect("ConstMethod", id.constMethod)
	m.bytes(id.constMethod, cm)
	id.constants = l.in(cm, "ConstMethod::_constants")
	id.nameIndex = uint16(l.in(cm, "ConstMethod::_name_index"))
	id.id = uint16(l.in(cm, "ConstMethod::_method_idnum"))
	id.constMethodHead, id.pool = cm, n.pool[:]
	m.expect("ConstantPool", id.constants)
	m.bytes(id.constants, n.pool[:l.sizes["ConstantPool"]])
	id.holder = l.in(id.pool, "ConstantPool::_pool_holder")
	if uint64(id.nameIndex) >= l.in(id.pool, "ConstantPool::_length") {
		m.fail("ConstantPool", id.constants, "it is too short to have the method's name")
	}
	m.expect("Klass", id.holder)
	name, class := m.word(n.constantAt(&id, id.nameIndex)), m.word(id.holder+l.offset("Klass::_name"))
	if m.err != nil {
		return id, m.err
	}
	text, err := n.symbolBytes(name)
	if err != nil {
		return id, err
	}
	n.spelled = append(n.spelled[:0], text...)
	end := len(n.spelled)
	text, err = n.symbolBytes(class)
	n.spelled = append(n.spelled, text...)
	id.name, id.class = n.spelled[:end], n.spelled[end:]
	return id, err
}

func (n *methodNames) constantAt(id *methodIdentity, index uint16) uint64 {
	return id.constants + n.vm.layout.sizes["ConstantPool"] + 8*uint64(index)
}

// methodAt checks the method after the walked copy was made.
func (n *methodNames) methodAt(addr uint64) (*method, error) {
	known := n.byAddress[addr]
	if known != nil && known.checked >= n.validity.copiedAt {
		return known, nil
	}
	since := n.vm.cached.begin(n.validity.copiedAt)
	defer n.vm.cached.bypass()
	id, err := n.identify(addr)
	if err != nil {
		n.drop(addr)
		return nil, err
	}
	cookie := id.cookie()
	if known != nil && known.cookie == cookie {
		known.checked = since
		return known, nil
	}
	m, err := n.readMethod(&id)
	n.drop(addr)
	if err != nil {
		return nil, err
	}
	for len(n.byAddress) >= maxMethods || n.kept > maxKept && len(n.byAddress) > 0 {
		n.drop(cache.Any(n.byAddress))
	}
	m.cookie, m.since, m.checked = cookie, since, since
	n.byAddress[addr] = m
	n.kept += m.bytes()
	return m, nil
}

func (m *method) bytes() int { return len(m.lines) + len(m.name) + len(m.file) }

func (n *methodNames) drop(addr uint64) {
	if m := n.byAddress[addr]; m != nil {
		n.kept -= m.bytes()
		delete(n.byAddress, addr)
	}
}

func (n *methodNames) forget() {
	clear(n.byAddress)
	n.kept = 0
}

func (n *methodNames) readMethod(id *methodIdentity) (*method, error) {
	l, cm := n.vm.nameLayout, id.constMethodHead
	whole := 8 * l.in(cm, "ConstMethod::_constMethod_size")
	m := &method{constMethod: id.constMethod, poolCache: l.in(id.pool, "ConstantPool::_cache")}
	head := l.sizes["ConstMethod"]
	m.bytecodeAt, m.bytecodeSize = id.constMethod+head, l.in(cm, "ConstMethod::_code_size")
	if head += m.bytecodeSize; whole > maxConstMethod || head > whole {
		return nil, &pointerError{"ConstMethod", id.constMethod, "its bytecodes do not fit into its size"}
	}
	hasTable := l.in(cm, "ConstMethod::_flags._flags")&hasLines != 0
	if err := n.checkText(id, id.nameIndex); err != nil {
		return nil, err
	}
	n.full = append(n.full[:0], id.class...)
	n.full = append(readable(n.full), '.')
	n.full = append(n.full, id.name...)
	m.name = string(n.full)
	m.file = n.sourceFile(id)
	if hasTable && m.bytecodeSize > 0 {
		n.readLines(m, whole)
	}
	return m, nil
}

// checkText returns an error if a constant of the pool is no text.
func (n *methodNames) checkText(id *methodIdentity, index uint16) error {
	l, m := n.vm.nameLayout, n.vm.memory()
	tags, count := l.in(id.pool, "ConstantPool::_tags"), l.in(id.pool, "ConstantPool::_length")
	if tags == 0 || index == 0 || uint64(index) >= count || count > maxConstants {
		return &pointerError{"ConstantPool", id.constants, "it has no constant of the index of a text"}
	}
	var tag [1]byte
	length := uint64(uint32(m.int32(tags + l.offset("Array<int>::_length"))))
	m.bytes(tags+l.offset("Array<u1>::_data")+uint64(index), tag[:])
	if length != count || tag[0] != constUTF8 {
		m.fail("tags of a ConstantPool", tags, "they are of another pool, or the constant is no text")
	}
	return m.err
}

func (n *methodNames) sourceFile(id *methodIdentity) string {
	index := n.sourceIndex(id)
	if n.checkText(id, index) != nil {
		return ""
	}
	b, _ := n.symbolBytes(n.vm.memory().word(n.constantAt(id, index)))
	return string(b)
}

func (n *methodNames) sourceIndex(id *methodIdentity) uint16 {
	l := n.vm.nameLayout
	if l.source == wantSource[0][0] {
		return uint16(l.in(id.pool, l.source))
	}
	var b [2]byte
	n.vm.memory().bytes(id.holder+l.offset(l.source), b[:])
	return binary.LittleEndian.Uint16(b[:])
}
