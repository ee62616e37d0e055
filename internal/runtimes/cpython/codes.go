// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

// codes is what is known of code objects, by address.
type codes struct {
	byAddr   map[uint64]*code
	bySerial map[uint64]*code
	serial   uint64
	known    managed.Known
	head     head
	resting  managed.Rest
}

// code is a code object.
type code struct {
	serial     uint64 // no other one has it
	id         identity
	name, file string
	table      []byte
	shim       bool // the interpreter's own, not of a program's
	since      int64
	checked    int64 // when it was last seen to be still there, CLOCK_MONOTONIC in nanoseconds
	met        int64 // the moment of the last copy whose walk has met it
}

// identity tells a code object from another one at the same address. From 3.12 on version does so alone. Before, the
// pointers alone do not: an allocator gives the same addresses to an object that is made like the one before. The hash
// of the name is that of its content.
type identity struct {
	file, name, table uint64
	hash              uint64
	first             int
	version           uint32
}

const mostCodes = 1 << 16

// mostData is how far from _PyRuntime other data of the interpreter lie at most, in bytes.
const mostData = 64 << 20

func (c *codes) forget() {
	for addr := range c.byAddr {
		c.known.Drop(addr)
	}
	c.byAddr, c.bySerial = nil, nil
}

// rest drops what no copy has met for long. at is when the copy of this walk was made.
func (c *codes) rest(at int64) {
	before, due := c.resting.Due(at)
	if !due {
		return
	}
	for addr, e := range c.byAddr {
		if e.met < before {
			c.known.Drop(addr)
			delete(c.byAddr, addr)
		}
	}
	for serial, e := range c.bySerial {
		if e.met < before {
			delete(c.bySerial, serial)
		}
	}
}

// leaveOut keeps stops from copying what stands for code in a frame that is none of a program's. It is one object, or
// two.
func (c *codes) leaveOut(addr uint64) {
	if !c.known.Has(addr) {
		c.known.Add(addr)
	}
}

// what resolve came to.
type found uint8

const (
	isFreed found = iota
	isKnown
	notCode
)

// words reads words of one moment.
type words func(addr uint64) (uint64, bool)

// identify reads the identity of a code object; notCode if what is there is none, isFreed if it cannot be read.
func (r *Runtime) identify(addr uint64, get words) (identity, found) {
	word := func(off int64) (uint64, bool) {
		v, ok := get(addr + uint64(off&^7))
		return v >> (off & 7 * 8), ok
	}
	typ, ok := word(objectType + int64(r.wider))
	switch {
	case !ok:
		return identity{}, isFreed
	case typ != r.codeType:
		return identity{}, notCode
	}
	file, ok1 := word(r.codeFile)
	name, ok2 := word(r.codeName)
	table, ok3 := word(r.codeTable)
	first, ok4 := word(r.codeFirst)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return identity{}, isFreed
	}
	id := identity{file: file, name: name, table: table, first: int(int32(first))}
	if r.codeVersion != 0 {
		v, ok := word(r.codeVersion)
		id.version = uint32(v)
		return id, when(ok)
	}
	if name == 0 {
		return id, isKnown
	}
	id.hash, ok = get(name + textHash + r.wider)
	return id, when(ok)
}

func when(ok bool) found {
	if ok {
		return isKnown
	}
	return isFreed
}

// resolve gives the code object that was at an address when the sample was taken, if that is proven.
func (r *Runtime) resolve(addr uint64) (*code, found) {
	c, what := r.prove(addr)
	if c != nil {
		c.met = max(c.met, r.sample.At)
	}
	return c, what
}

func (r *Runtime) prove(addr uint64) (*code, found) {
	w := &r.walk
	c := r.codes.byAddr[addr]
	id, what := r.identify(addr, w.sample.Mem.Word)
	switch {
	case what == notCode:
		return nil, notCode
	case what == isKnown: // it was copied in the stop
		if c != nil && c.id == id {
			return c, isKnown
		}
		return r.readCode(addr, &id)
	case c != nil && w.sample.At != 0 && c.since <= w.sample.At && c.checked >= w.sample.At:
		return c, isKnown // by another walk
	case c == nil && !w.isLive():
		r.codes.known.Drop(addr) // stops have left it out as what was there before
		return nil, isFreed
	}
	before := c != nil && w.sample.At != 0 && c.since <= w.sample.At // it was known before the stop
	if c != nil && !before && !w.isLive() {
		return nil, isFreed
	}
	id, what, at := r.identifyAgain(addr)
	switch {
	case what == isKnown && c != nil && c.id == id && before: // and is the same after it
		c.checked = at
		return c, isKnown
	case !w.isLive():
		r.codes.known.Drop(addr)
		delete(r.codes.byAddr, addr)
		return nil, isFreed
	}
	w.used = true // it is what it was then
	switch {
	case what != isKnown:
		return nil, what
	case c != nil && c.id == id:
		c.checked = at
		return c, isKnown
	}
	return r.readCode(addr, nil)
}

// identifyNow is identify of what is there now, in one or two reads.
func (r *Runtime) identifyNow(addr uint64) (identity, found) {
	h := &r.codes.head
	h.at, h.n = addr, 0
	if l := r.sample.Live; l != nil {
		h.n = l.Read(addr, h.b[:min(int(r.codeHead), len(h.b))])
	}
	return r.identify(addr, r.headWord)
}

// headWord gives a word of the head that was read last, or of the process as it is now.
func (r *Runtime) headWord(addr uint64) (uint64, bool) {
	h := &r.codes.head
	if off := addr - h.at; off < uint64(len(h.b)) && int(off)+8 <= h.n {
		return binary.LittleEndian.Uint64(h.b[off:]), true
	}
	return r.now(addr)
}

// head is the first bytes of a code object.
type head struct {
	at uint64
	n  int
	b  [160]byte
}

// mostRefs is the largest count of references, that of objects that are never freed.
const mostRefs = 1<<32 - 1

// alive reports whether an object has references. What has been freed stays as it was until it is overwritten, but for
// its first word. That is 0 as soon as what the object leads to may be freed. Then it is the address of another free
// block (Objects/obmalloc.c), which lies above 4 GiB. From 3.14 on the two highest bytes are flags (Include/object.h).
func (r *Runtime) alive(addr uint64) bool {
	if r.wider != 0 {
		return r.aliveFree(addr)
	}
	refs, ok := r.now(addr)
	if r.minor >= 14 {
		refs &= 1<<48 - 1
	}
	return ok && refs > 0 && refs <= mostRefs
}

// aliveFree is alive for the free-threaded build. An object has a count of the thread that has made it, 32 bits, and
// one of all others, above two bits of another meaning. Both are 0 when it is freed.
func (r *Runtime) aliveFree(addr uint64) bool {
	own, ok1 := r.now(addr + 8)
	others, ok2 := r.now(addr + 16)
	return ok1 && ok2 && (own>>32 != 0 || int64(others)>>2 > 0)
}

// now gives a word of the process as it is now.
func (r *Runtime) now(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.sample.Live != nil && r.sample.Live.Read(addr, b[:]) == 8
	return binary.LittleEndian.Uint64(b[:]), ok
}

// readCode reads what a code object says. want, if not nil, is the identity that it must have.
func (r *Runtime) readCode(addr uint64, want *identity) (*code, found) {
	before := procmem.Now()
	id, what := r.identifyNow(addr)
	if what != isKnown || want != nil && id != *want {
		return nil, isFreed
	}
	c := &code{id: id, checked: before}
	qual := uint64(0)
	if r.codeQual != 0 {
		qual, _ = r.now(addr + uint64(r.codeQual))
	}
	var ok1, ok2, ok3 bool
	if c.name, ok1 = r.readText(qual); !ok1 {
		c.name, ok1 = r.readText(id.name)
	}
	c.file, ok2 = r.readText(id.file)
	c.table, ok3 = r.readBytes(id.table)
	// The frame that cleans up after __init__ runs a code object of the interpreter's own (3.13).
	c.shim = id.file == 0 || id.name == 0 || id.first == 0 && addr-r.at+mostData < 2*mostData
	if again, what := r.identifyNow(addr); what != isKnown || again != id || !c.shim && !(ok1 && ok2 && ok3) {
		return nil, isFreed
	}
	if !r.alive(addr) {
		return nil, isFreed
	}
	c.since = procmem.Now()
	c.met = c.since
	r.codes.add(addr, c)
	return c, isKnown
}

func (c *codes) add(addr uint64, e *code) {
	if c.byAddr == nil {
		c.byAddr, c.bySerial = map[uint64]*code{}, map[uint64]*code{}
	}
	c.serial++
	e.serial = c.serial
	c.byAddr[addr], c.bySerial[e.serial] = e, e
	c.known.Add(addr)
}

// Bounds of what is read of one object.
const (
	mostText  = 1 << 12
	mostTable = 1 << 20
)

// readText reads a string; false if it is none that was read as a whole.
func (r *Runtime) readText(addr uint64) (string, bool) { return r.textOf(r.sample.Live, addr) }

// textOf is readText with a reader of memory.
func (r *Runtime) textOf(mem interface{ Read(uint64, []byte) int }, addr uint64) (string, bool) {
	var b [72]byte
	head := b[:r.textCompact]
	if addr == 0 || mem.Read(addr, head) != len(head) {
		return "", false
	}
	n, state := binary.LittleEndian.Uint64(head[textLength+r.wider:]), head[textState+r.wider]
	kind, compact, ascii := uint64(state>>2&7), state&(1<<5) != 0, state&(1<<6) != 0
	if n > mostText || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", false
	}
	from := uint64(r.textCompact)
	if ascii {
		from = uint64(r.textASCII)
	}
	text := make([]byte, n*kind)
	if len(text) > 0 && mem.Read(addr+from, text) != len(text) {
		return "", false
	}
	return decodeText(text, int(kind)), true
}

// decodeText makes a string of characters of 1, 2 or 4 bytes.
func decodeText(b []byte, kind int) string {
	out := make([]rune, 0, len(b)/kind)
	for ; len(b) >= kind; b = b[kind:] {
		switch kind {
		case 1:
			out = append(out, rune(b[0]))
		case 2:
			out = append(out, rune(binary.LittleEndian.Uint16(b)))
		default:
			out = append(out, rune(binary.LittleEndian.Uint32(b)&0x1fffff))
		}
	}
	return string(out)
}

// readBytes reads the content of a bytes object.
func (r *Runtime) readBytes(addr uint64) ([]byte, bool) {
	var head [8]byte
	if addr == 0 || r.sample.Live.Read(addr+bytesSize+r.wider, head[:]) != len(head) {
		return nil, false
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > mostTable {
		return nil, false
	}
	b := make([]byte, n)
	return b, n == 0 || r.sample.Live.Read(addr+bytesContent+r.wider, b) == len(b)
}
