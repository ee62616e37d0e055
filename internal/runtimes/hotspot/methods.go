// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"unicode/utf8"
)

// method is what is known of a Method in the process's memory. Methods do not move, and go with their class, whose
// memory is then used again: so it holds what another method at that place would differ in.
type method struct {
	at          uint64
	constMethod uint64
	code        uint64 // where its bytecode begins
	size        uint64 // of that
	cache       uint64 // of its class's constants: the interpreter keeps it in each frame
	cookie      uint64
	found       places
	name, file  string
	lines       []byte // the table, compressed
	first       int    // the line of its first bytecode
	// since is when it was read first, checked when it was still the same.
	since, checked int64
}

// places are where a method's identity was found: its class's constants, the one with its name, the name, the class,
// and the name of that.
type places struct{ constants, slot, name, holder, class uint64 }

// Bounds of what is read of a method.
const (
	maxConstMethod = 1 << 20 // bytes: bytecode has 64 KiB at most, the tables behind it more
	maxConstants   = 1 << 17
	maxSymbol      = 1 << 12 // bytes of a name that are kept
	maxLines       = 1 << 16
	maxMethods     = 1 << 16 // that are remembered
)

// constUTF8 tags a constant that is a name (JVM_CONSTANT_Utf8).
const constUTF8 = 1

// hasLines is the flag of methods with a table of lines, the same in all releases.
const hasLines = 1

// hashSeed makes cookies of one run comparable.
var hashSeed = maphash.MakeSeed()

// methodIdentity is what is compared to tell a method from another one at the same address.
type methodIdentity struct {
	constMethod, constants, holder uint64
	found                          places
	nameIndex, id                  uint16
	name, class                    []byte // addresses of names are used again, too; the next identify overwrites them
}

// cookieFor gives a number that tells a method by all of that from others at its address.
func (n *Names) cookieFor(id *methodIdentity) uint64 {
	b := binary.LittleEndian.AppendUint64(n.cookie[:0], id.constMethod)
	b = binary.LittleEndian.AppendUint64(b, id.constants)
	b = binary.LittleEndian.AppendUint64(b, id.holder)
	b = binary.LittleEndian.AppendUint16(b, id.nameIndex)
	b = binary.LittleEndian.AppendUint16(b, id.id)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(id.name)))
	n.cookie = append(append(b, id.name...), id.class...)
	return maphash.Bytes(hashSeed, n.cookie) | 1
}

// wantKnown notes where a known method's identity was found. If it is the same, nothing else needs to be read.
func (n *Names) wantKnown(m *method) {
	k, l := n.v.near, &n.l.at
	k.want(extent{m.at + l.constMethod.offset, 8})
	k.want(extent{m.constMethod, l.constMethodBytes + 8})
	k.want(extent{m.found.constants, l.poolBytes})
	k.want(extent{m.found.slot, 8})
	k.want(n.symbolAt(m.found.name))
	k.want(extent{m.found.holder + l.klassName.offset, 8})
	k.want(n.symbolAt(m.found.class))
}

// identify reads the identity of what is at the address of a method, and, of one that is not known, what names need of
// it besides. What one step leads to is read at once.
func (n *Names) identify(at uint64, known *method) (id methodIdentity, cm []byte, ok bool) {
	l, m, near := &n.l.at, n.v.memory(), n.v.near
	if at == 0 || at%8 != 0 {
		return id, nil, false
	}
	if known != nil {
		n.wantKnown(known)
		near.get()
	}
	id.constMethod = m.word(at + l.constMethod.offset)
	cm = n.constMethod[:l.constMethodBytes+8]
	if id.constMethod == 0 || id.constMethod%8 != 0 || !m.bytes(id.constMethod, cm) {
		return id, nil, false
	}
	n.pointsTo(&id, cm)
	pool := n.pool[:l.poolBytes]
	near.fetch(extent{id.constants, uint64(len(pool))}, extent{n.constantAt(&id, id.nameIndex), 8})
	if id.constants == 0 || id.constants%8 != 0 || !m.bytes(id.constants, pool) {
		return id, nil, false
	}
	id.holder = l.holder.in(n.pool[:])
	if uint64(id.nameIndex) >= l.length.in(n.pool[:]) {
		return id, nil, false
	}
	slot := n.constantAt(&id, id.nameIndex)
	if known == nil {
		near.fetch(n.symbolAt(m.word(slot)), extent{id.holder + l.klassName.offset, 8}, n.tagOf(id.nameIndex),
			n.sourceAt(&id))
	}
	name, class := m.word(slot), m.word(id.holder+l.klassName.offset)
	if m.failed || id.holder == 0 {
		return id, nil, false
	}
	if known == nil {
		file := n.sourceIndex(&id)
		near.fetch(n.symbolAt(class), n.tagOf(file), extent{n.constantAt(&id, file), 8})
	}
	id.found = places{id.constants, slot, name, id.holder, class}
	text, ok := n.letters(name)
	n.spelled = append(n.spelled[:0], text...)
	end := len(n.spelled)
	text, ok2 := n.letters(class)
	n.spelled = append(n.spelled, text...)
	id.name, id.class = n.spelled[:end], n.spelled[end:]
	return id, cm, ok && ok2
}

// pointsTo fills in what the bytes of a ConstMethod say.
func (n *Names) pointsTo(id *methodIdentity, cm []byte) {
	l := &n.l.at
	id.constants = l.constants.in(cm)
	id.nameIndex = uint16(l.nameIndex.in(cm))
	id.id = uint16(l.idnum.in(cm))
}

// symbolAt gives what is read of a name at first.
func (n *Names) symbolAt(symbol uint64) extent {
	return extent{symbol &^ 1, n.l.at.body.offset + shortSymbol}
}

// constantAt gives the place of one of the constants: they lie behind the pool's header.
func (n *Names) constantAt(id *methodIdentity, index uint16) uint64 {
	return id.constants + n.l.at.poolBytes + 8*uint64(index)
}

// methodAt gives the method at an address, as it was at some time after the copy; nil if there is none.
func (n *Names) methodAt(at uint64) *method {
	known := n.methods[at]
	if known != nil && known.checked >= n.at {
		return known
	}
	now := n.v.near.use(n.at)
	defer n.v.near.done()
	id, cm, ok := n.identify(at, known)
	if !ok {
		delete(n.methods, at)
		return nil
	}
	cookie := n.cookieFor(&id)
	if known != nil && known.cookie == cookie {
		known.checked, known.found = now, id.found
		return known
	}
	m := n.readMethod(at, &id, cm)
	if m == nil {
		delete(n.methods, at)
		return nil
	}
	if len(n.methods) >= maxMethods {
		clear(n.methods)
	}
	m.cookie, m.found, m.since, m.checked = cookie, id.found, now, now
	n.methods[at] = m
	return m
}

// readMethod reads the rest of a method. Each step is proven by something: sizes that fit each other, a tag that says
// that a constant is a name, and names that are text.
func (n *Names) readMethod(at uint64, id *methodIdentity, cm []byte) *method {
	l := &n.l.at
	whole := 8 * l.constMethodSize.in(cm)
	m := &method{at: at, constMethod: id.constMethod, cache: l.cache.in(n.pool[:])}
	m.code, m.size = id.constMethod+l.constMethodBytes, l.codeSize.in(cm)
	if head := l.constMethodBytes + m.size; whole > maxConstMethod || head > whole {
		return nil
	}
	hasTable := l.flags.in(cm)&hasLines != 0
	if !n.isName(id, id.nameIndex) {
		return nil
	}
	n.full = append(n.full[:0], id.class...)
	n.full = append(readable(n.full), '.')
	n.full = append(n.full, id.name...)
	m.name = string(n.full)
	m.file = n.sourceFile(id)
	if hasTable && m.size > 0 {
		n.readLines(m, whole)
	}
	return m
}

// isName reports whether a constant is tagged as a name. n.pool holds the header of the constants.
func (n *Names) isName(id *methodIdentity, index uint16) bool {
	l, m := &n.l.at, n.v.memory()
	tags, count := l.tags.in(n.pool[:]), l.length.in(n.pool[:])
	if tags == 0 || index == 0 || uint64(index) >= count || count > maxConstants {
		return false
	}
	length, at := l.arrayLength.offset, l.arrayData.offset+uint64(index)
	if b := n.tags[:]; max(length+4, at+1) <= uint64(len(b)) { // mostly: both in one read
		b = b[:max(length+4, at+1)]
		return m.bytes(tags, b) && uint64(uint32(int32At(b[length:]))) == count && b[at] == constUTF8
	}
	var tag [1]byte
	return uint64(uint32(m.int32(tags+length))) == count && m.bytes(tags+at, tag[:]) && tag[0] == constUTF8
}

// sourceFile gives the file that the class says it was compiled from, "" if it does not.
func (n *Names) sourceFile(id *methodIdentity) string {
	index := n.sourceIndex(id)
	if !n.isName(id, index) {
		return ""
	}
	b, _ := n.letters(n.v.memory().word(n.constantAt(id, index)))
	file, known := n.files[string(b)] // a class's methods have it in common
	if !known {
		if len(n.files) >= maxMethods {
			clear(n.files)
		}
		file = string(b)
		n.files[file] = file
	}
	return file
}

// sourceIndex gives which constant that file is. n.pool holds the header of the constants.
func (n *Names) sourceIndex(id *methodIdentity) uint16 {
	if l := &n.l.at; l.sourceInPool {
		return uint16(l.source.in(n.pool[:]))
	}
	var b [2]byte
	n.v.memory().bytes(n.sourceAt(id).addr, b[:])
	return binary.LittleEndian.Uint16(b[:])
}

// sourceAt gives where a class says which constant that is, in releases in which its constants do not.
func (n *Names) sourceAt(id *methodIdentity) extent {
	if l := &n.l.at; !l.sourceInPool {
		return extent{id.holder + l.source.offset, 2}
	}
	return extent{}
}

// tagOf gives where the tag of a constant is, with what precedes it.
func (n *Names) tagOf(index uint16) extent {
	at := extent{n.l.at.tags.in(n.pool[:]), n.l.at.arrayData.offset + uint64(index) + 1}
	if at.size > uint64(len(n.tags)) {
		at.addr, at.size = at.addr+at.size-1, 1
	}
	return at
}

// text gives what a Symbol holds: modified UTF-8, of which nothing but text is taken.
func (n *Names) text(symbol uint64) (string, bool) {
	b, ok := n.letters(symbol)
	return string(b), ok
}

// letters is text, in a buffer that the next call overwrites.
func (n *Names) letters(symbol uint64) ([]byte, bool) {
	l, m := &n.l.at, n.v.memory()
	body := l.body.offset
	symbol &^= 1
	if symbol == 0 || symbol%4 != 0 || body > 32 {
		return nil, false
	}
	// Most names are short: header and text in one read, as far as memory goes.
	b := n.symbol[:body+shortSymbol]
	got := max(m.read(symbol, b), 0)
	if uint64(got) < body+1 {
		return nil, false
	}
	clear(b[got:])
	size := l.symbolLength.in(b)
	if n.l.symbol == wantSymbols[1][0] {
		size = size >> 16 & 0xffff
	}
	if l.symbolLength.size == 2 {
		size &= 0xffff
	}
	if size == 0 || size > maxSymbol {
		return nil, false
	}
	if b = n.symbol[:body+size]; uint64(got) < body+size && !m.bytes(symbol, b) {
		return nil, false
	}
	b = b[body:]
	if !utf8.Valid(b) {
		return nil, false
	}
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return nil, false
		}
	}
	return b, true
}

// shortSymbol is how much of a name is read at first, in bytes.
const shortSymbol = 120

// readLines copies the table of lines, which lies behind the bytecode, and finds the line of the first bytecode. What
// follows the table is of no use.
func (n *Names) readLines(m *method, whole uint64) {
	from := m.code + m.size
	size := min(m.constMethod+whole-from, maxLines)
	n.table = slices.Grow(n.table[:0], int(size))[:size]
	if !n.v.memory().bytes(from, n.table) {
		return
	}
	s, best, line := stream{b: n.table, least: n.l.least}, int32(-1), int32(0)
	eachLine(&s, func(at, l int32) bool { // as lineAt does
		if at <= 0 && at >= best {
			best, line = at, l
		}
		return true
	})
	m.lines, m.first = bytes.Clone(n.table[:len(n.table)-len(s.b)]), int(max(line, 0))
}

// lineAt gives the line of a bytecode index, 0 if it is not known: that of the nearest entry at or before it
// (Method::line_number_from_bci).
func (n *Names) lineAt(m *method, bci int32) int {
	best, line := int32(-1), int32(0)
	s := stream{b: m.lines, least: n.l.least}
	eachLine(&s, func(at, l int32) bool {
		if at <= bci && at >= best {
			best, line = at, l
		}
		return true
	})
	return int(max(line, 0))
}

// eachLine calls f for the entries of a table of lines. Each is a byte with the differences to the one before, 5
// bits of the bytecode index and 3 of the line; or 0xff and both as numbers; 0 at the end.
func eachLine(s *stream, f func(bci, line int32) bool) {
	bci, line := int32(0), int32(0)
	for {
		switch c := s.byte(); {
		case s.failed || c == 0:
			return
		case c == 0xff:
			bci += s.signed()
			line += s.signed()
		default:
			bci += int32(c >> 3)
			line += int32(c & 7)
		}
		if s.failed || !f(bci, line) {
			return
		}
	}
}
