// SPDX-License-Identifier: Apache-2.0

package ruby

import "prywalk/internal/walk/managed"

type memory interface {
	Word(addr uint64) (uint64, bool)
	Read(addr uint64, b []byte) int
}

type heap struct {
	*layout
	memory memory
}

func (h heap) word(addr uint64) uint64 {
	v, _ := h.memory.Word(addr)
	return v
}

// A string (include/ruby/internal/core/rstring.h) is flags, class, and, before 3.2
//
//	long:  16 length  24 address of its bytes
//	short: 16 bytes; the length is in five bits of the flags, from bit 14 on
//
// and from 3.2 on
//
//	16 length  24 address of its bytes, or these themselves
const (
	textLength = 16
	textAddr   = 24
)

func (h heap) textAt(addr uint64) (at, n uint64, ok bool) {
	flags, ok := h.memory.Word(addr)
	if !ok || flags&typeMask != typeString {
		return 0, 0, false
	}
	if flags&flagLong == 0 && h.lenInFlags {
		return addr + uint64(h.embedAt), flags >> shortLenShift & shortLen, true
	}
	n, ok = h.memory.Word(addr + textLength)
	if at = addr + uint64(h.embedAt); flags&flagLong != 0 {
		var ok2 bool
		at, ok2 = h.memory.Word(addr + textAddr)
		ok = ok && ok2
	}
	return at, n, ok
}

func (h heap) textKey(addr uint64) (key uint64, ok bool) {
	at, n, ok := h.textAt(addr)
	if !ok {
		return 0, false
	}
	most := uint64(textCopied - 8)
	if at-addr < labelCopied {
		most = addr + labelCopied - at
	}
	key = mix(mix(1, at), n)
	for n = min(n, most); n > 0; at += 8 {
		v, ok := h.memory.Word(at)
		if !ok {
			return 0, false
		}
		if n < 8 {
			v &= 1<<(8*n) - 1
		}
		key = mix(key, v)
		n -= min(n, 8)
	}
	return key, true
}

func mix(key, v uint64) uint64 {
	key = (key ^ v) * 0x100000001b3
	return key ^ key>>29
}

const maxText = 1 << 12

func (h heap) text(addr uint64) (string, bool) {
	at, n, ok := h.textAt(addr)
	if !ok || n > maxText {
		return "", false
	}
	b := make([]byte, n)
	if n > 0 && h.memory.Read(at, b) != len(b) {
		return "", false
	}
	return string(b), true
}

// An array is flags, class, and elements, or their number and address.
const (
	arrayShort = 16
	arrayLen   = 16
	arrayAddr  = 32
)

func (h heap) elements(addr uint64) (at, n uint64, ok bool) {
	flags, ok := h.memory.Word(addr)
	if !ok || flags&typeMask != typeArray {
		return 0, 0, false
	}
	if flags&flagShort != 0 {
		return addr + arrayShort, flags >> 15 & 0x7f, true
	}
	n, ok = h.memory.Word(addr + arrayLen)
	at, ok2 := h.memory.Word(addr + arrayAddr)
	return at, n, ok && ok2
}

func (h heap) path(addr uint64) (string, bool) {
	if at, n, ok := h.elements(addr); ok && n > 0 {
		addr = h.word(at)
	}
	return h.text(addr)
}

// # Names of methods
//
// The symbol table names a C method's ID (symbol.c, struct rb_symbols_t), permanently.
//
//	0 last number (4 bytes)  8 …  16 ids: an array of arrays, each with name and symbol of 512 numbers
//
// A symbol is its ID with a mark, which shows that this is the table.
const (
	symbolIDs   = 16
	idsOfUnit   = 512
	scopeShift  = 4
	lastOp      = 1 << 9 // lower IDs are operators, without scope
	symbolShift = 8
	symbolMark  = 0xc
	minSymbols  = 500 // of a program
	maxSymbols  = 1 << 28
)

func (h heap) isSymbols(at uint64) bool {
	last := h.word(at) & (1<<32 - 1)
	if last < minSymbols || last > maxSymbols {
		return false
	}
	const firstSerial = 300
	unit, n, ok := h.unit(at, 0)
	if !ok || n < 2*(firstSerial+20) {
		return false
	}
	for serial := uint64(firstSerial); serial < firstSerial+20; serial++ {
		flags, ok := h.memory.Word(h.word(unit + serial*16))
		symbol := h.word(unit + serial*16 + 8)
		if ok && flags&typeMask == typeString && symbol&0xff == symbolMark && symbol>>(symbolShift+scopeShift) == serial {
			return true
		}
	}
	return false
}

func (h heap) unit(table, i uint64) (at, n uint64, ok bool) {
	units, n, ok := h.elements(h.word(table + symbolIDs))
	if !ok || i >= n {
		return 0, 0, false
	}
	return h.elements(h.word(units + i*8))
}

func (h heap) nameOf(table, id uint64) (string, bool) {
	if table == 0 {
		return "?", true
	}
	if id >= lastOp {
		id >>= scopeShift
	}
	unit, n, ok := h.unit(table, id/idsOfUnit)
	i := id % idsOfUnit * 2
	if !ok || i >= n {
		return "", false
	}
	return h.text(h.word(unit + i*8))
}

type identity struct {
	words [9]uint64
	text  uint64
}

const wordID = 4 // of a method's identity

// identify returns NotObject for another kind, ObjectFreed if unreadable.
func (h heap) identify(addr uint64, kind objectKind) (id identity, status managed.ObjectStatus) {
	flags, ok := h.memory.Word(addr)
	if !ok {
		return id, managed.ObjectFreed
	}
	want := uint64(imemoISeq)
	if kind != isCode {
		want = imemoMethod
	}
	if !isImemo(flags, want) {
		return id, managed.NotObject
	}
	n := 0
	read := func(at uint64) uint64 {
		v, ok2 := h.memory.Word(at)
		ok = ok && ok2
		id.words[n] = v
		n++
		return v
	}
	if kind != isCode {
		read(addr + methodClass)
		def := read(addr + methodDef)
		read(addr + methodCalled)
		read(addr + methodOwner)
		if kind == isMethod {
			read(def + defID)
			read(def + defSerial)
		}
		return id, managed.StatusOf(ok)
	}
	body := read(addr + iseqBody)
	read(body)
	read(body + bodyISeqEncoded)
	read(body + bodyPath)
	label := read(body + bodyLabel)
	read(body + bodyFirst)
	read(body + uint64(h.bodyInfo) + infoEntries)
	read(body + uint64(h.bodyInfo) + infoSucc)
	read(body + uint64(h.bodyLocal))
	if !ok {
		return id, managed.ObjectFreed
	}
	id.text, ok = h.textKey(label)
	return id, managed.StatusOf(ok)
}

func (l *layout) isOld(flags uint64) bool { return flags&l.oldMask() == l.oldMask() }

// oldMask is RUBY_FL_PROMOTED (include/ruby/internal/fl_type.h).
func (l *layout) oldMask() uint64 {
	if l.release >= 303 {
		return 1 << 5
	}
	return 3 << 5
}

type copiedMemory struct{ view *managed.View }

// Word implements memory.
func (m copiedMemory) Word(addr uint64) (uint64, bool) { return m.view.Sample.Mem.Word(addr) }

// Read implements memory: nothing, as only words are asked for.
func (m copiedMemory) Read(uint64, []byte) int { return 0 }
