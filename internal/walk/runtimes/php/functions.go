// SPDX-License-Identifier: Apache-2.0

package php

import (
	"bytes"
	"encoding/binary"
	"maps"
	"path"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// functionCache knows by address only functions that are never freed.
type functionCache struct {
	objects managed.Objects[*function]
	byID    map[identity]*function // closures move
}

type function struct {
	managed.CacheEntry
	id         identity
	name, file string
	frameType  string
	first      int
	lines      []uint32 // by opcode
}

// identity distinguishes functions at one address. Pointers can be equal, so it has the hashes of texts.
type identity struct {
	flags              uint64 // type; closure, trampoline
	name, scope        uint64
	opcodes, file      uint64
	lines, last        uint64
	nameHash, fileHash uint64
	immutable          bool
}

// Identity implements [managed.Identified].
func (f *function) Identity() identity { return f.id }

func (id *identity) kind() uint8 { return uint8(id.flags) }

func (c *functionCache) forget() {
	c.objects.Forget()
	c.byID = nil
}

func (c *functionCache) begin(at int64) {
	if c.objects.Begin(at) {
		maps.DeleteFunc(c.byID, func(_ identity, f *function) bool { return c.objects.Of(f.Serial) == nil })
	}
}

func (r *Runtime) identify(addr uint64, get managed.WordReader) (id identity, ok bool) {
	word := func(off int64) uint64 {
		v, here := get(addr + uint64(off&^7))
		ok = ok && here
		return v >> (off & 7 * 8)
	}
	ok = true
	flags := word(funcType)
	id = identity{flags: flags & (0xff | uint64(r.layout.closure|flagTrampoline)<<32), name: word(funcName)}
	id.scope = word(funcScope)
	id.immutable = flags>>32&flagImmutable != 0
	if id.kind() != typeInternal && ok {
		id.opcodes, id.file, id.lines = word(r.layout.opcodes), word(r.layout.file), word(r.layout.lines)
		id.last = uint64(uint32(word(r.layout.last)))
	}
	return id, ok
}

// isPermanent reports whether the function is never freed: the engine's and opcache's, but for closures and
// trampolines.
func (id *identity) isPermanent() bool {
	return (id.immutable || id.kind() == typeInternal) && id.flags>>32 == 0
}

func (r *Runtime) addHashes(id *identity, get managed.WordReader) (ok bool) {
	if id.isPermanent() {
		return true
	}
	if id.nameHash, ok = r.hashIn(id.name, maxName, get); ok {
		id.fileHash, ok = r.hashIn(id.file, maxFile, get)
	}
	return ok
}

// Copied bytes of texts, multiples of 8.
const (
	maxName = 104
	maxFile = 232
)

// hashIn returns a text's hash, or 0 if it is no text. The engine's hash stays valid in a freed text; without it the
// text, of a long one the first most bytes, is hashed unless freed.
func (r *Runtime) hashIn(addr, most uint64, get managed.WordReader) (uint64, bool) {
	if addr == 0 {
		return 0, true
	}
	if h, ok := get(addr + textHash); !ok || h != 0 {
		return h, ok
	}
	head, ok := get(addr)
	n, ok2 := get(addr + textLength)
	if !ok || !ok2 || !isText(head) {
		return 0, false
	}
	var b [maxFile]byte
	n = min(n, most)
	for i := uint64(0); i < n; i += 8 {
		v, ok := get(addr + textContent + i)
		if !ok {
			return 0, false
		}
		binary.LittleEndian.PutUint64(b[i:], v)
	}
	return hashOf(b[:n], r.signedChar), true
}

// isText reports whether a text's first word (references, type, flags) is not that of a freed one: the allocator writes
// a pointer there, whose upper half is no text's type.
func isText(head uint64) bool {
	return uint32(head>>32)&^textFlags == typeText && (uint32(head) != 0 || head>>32&textImmutable != 0)
}

func (id *identity) nameless() bool { return id.name == 0 && id.kind() == typeInternal }

// resolve sets a call's function as of the sample, if proven, and its kind; it returns false if it is no function.
func (r *Runtime) resolve(c *executeData) bool {
	w := &r.walk
	used := w.view.UsedLive
	f, status, live := managed.Prove(&r.functions.objects, w.view, c.functionAt, functionSource{r})
	if status == managed.NotObject {
		return false
	}
	if flags, copied := w.view.Sample.Mem.Word(c.functionAt + funcType); copied {
		c.kind = uint8(flags)
	}
	if live { // checked now: a running thread loses this name, not the walk
		if w.view.UsedLive = used; !w.view.StillLive() {
			f = nil
		}
	}
	if f != nil {
		c.function, c.kind = f, f.id.kind()
	}
	return true
}

// functionSource implements [managed.ObjectSource].
type functionSource struct{ php *Runtime }

// Identify implements [managed.ObjectSource].
func (s functionSource) Identify(addr uint64, now bool) (identity, managed.ObjectStatus) {
	get := s.php.walk.view.Sample.Mem.Word
	if now {
		get = s.php.walk.view.Pages.Word
	}
	id, ok := s.php.identify(addr, get)
	if k := id.kind(); ok && k != typeInternal && k != typeUser && k != typeEval {
		return id, managed.NotObject
	}
	return id, managed.StatusOf(ok && s.php.addHashes(&id, get))
}

// Read implements [managed.ObjectSource].
func (s functionSource) Read(addr uint64, want *identity) (*function, managed.ObjectStatus) {
	if want == nil {
		id, ok := s.php.identify(addr, s.php.walk.view.Current)
		if !ok || !s.php.addHashes(&id, s.php.walk.view.Current) {
			return nil, managed.ObjectFreed
		}
		want = &id
	}
	f := s.php.functions.byID[*want]
	if f == nil {
		f = s.php.read(addr, want)
	}
	return f, managed.StatusOf(f != nil)
}

func (r *Runtime) read(addr uint64, want *identity) *function {
	moment := procmem.Now()
	if r.walk.view.Sample.Live == nil || !r.hasIdentity(addr, want) {
		return nil
	}
	f := &function{id: *want}
	f.LastChecked = moment
	if !r.readName(f) || want.kind() != typeInternal && !r.readLines(f) || !r.hasIdentity(addr, want) {
		return nil
	}
	r.functions.keep(f)
	if want.isPermanent() || r.oneRequest && want.name != 0 && want.flags>>32 == 0 {
		r.functions.addPermanent(addr, f)
	}
	return f
}

func (r *Runtime) hasIdentity(addr uint64, want *identity) bool {
	id, ok := r.identify(addr, r.walk.view.Current)
	return ok && r.addHashes(&id, r.walk.view.Current) && id == *want
}

func (c *functionCache) addPermanent(addr uint64, f *function) {
	c.objects.Add(addr, f)
	c.objects.Skip.Add(addr)
}

func (c *functionCache) keep(f *function) {
	if c.byID == nil {
		c.byID = map[identity]*function{}
	}
	f.FirstRead = procmem.Now()
	f.LastWalked = f.FirstRead
	c.objects.Number(f)
	c.byID[f.id] = f
}

func (r *Runtime) readName(f *function) bool {
	id := &f.id
	if f.frameType = "internal"; id.kind() != typeInternal {
		f.frameType = ""
		f.first = int(uint32(id.lines))
		text, ok := r.text(id.file, id.fileHash, maxFile)
		if !ok {
			return false
		}
		f.file = text
	}
	if id.name == 0 {
		f.name = path.Base(f.file) // a script
		return true
	}
	name, ok := r.text(id.name, id.nameHash, maxName)
	if !ok {
		return false
	}
	f.name = name
	if id.scope == 0 {
		return true
	}
	class, ok := r.walk.view.Current(id.scope + className)
	if !ok {
		return false
	}
	name, ok = r.text(class, 0, 0)
	f.name = name + "::" + f.name
	return ok
}

const maxText = 4 << 10 // bytes

// text returns false for another hash than hash, which hashIn returned with the same most (0 for any).
func (r *Runtime) text(addr, hash, most uint64) (string, bool) {
	var head [textContent]byte
	if addr == 0 || r.walk.view.Sample.Live.Read(addr, head[:]) != len(head) {
		return "", false
	}
	n, has := binary.LittleEndian.Uint64(head[textLength:]), binary.LittleEndian.Uint64(head[textHash:])
	if n > maxText || hash != 0 && has != 0 && has != hash {
		return "", false
	}
	b := make([]byte, n)
	if n > 0 && r.walk.view.Sample.Live.Read(addr+textContent, b) != len(b) {
		return "", false
	}
	whole := hashOf(b, r.signedChar)
	if has != 0 && has != whole || hash != 0 && hash != whole && hash != hashOf(b[:min(n, most)], r.signedChar) {
		return "", false
	}
	if has == 0 && hash != whole {
		after, ok := r.walk.view.Current(addr)
		if !ok || !isText(binary.LittleEndian.Uint64(head[:])) || !isText(after) {
			return "", false
		}
	}
	if i := bytes.IndexByte(b, 0); i >= 0 { // the place of declaration follows
		b = b[:i]
	}
	return string(b), true
}

// hashOf is zend_inline_hash_func (Zend/zend_string.h). It adds bytes as char, which is signed in the System V ABI of
// x86-64, and as unsigned bytes on arm64.
func hashOf(b []byte, signedChar bool) uint64 {
	h := uint64(5381)
	for _, c := range b {
		if h *= 33; signedChar {
			h += uint64(int8(c))
		} else {
			h += uint64(c)
		}
	}
	return h | 1<<63
}

const maxOpcodes = 1 << 17

// readLines fails for a line outside of the function: opcodes can be freed before the function (destroy_op_array,
// Zend/zend_opcode.c).
func (r *Runtime) readLines(f *function) bool {
	if f.id.last > maxOpcodes {
		return f.id.last < 1<<28 // named, without lines
	}
	b := make([]byte, f.id.last*opSize)
	if len(b) == 0 || r.walk.view.Sample.Live.Read(f.id.opcodes, b) != len(b) {
		return false
	}
	f.lines = make([]uint32, f.id.last)
	for i := range f.lines {
		f.lines[i] = binary.LittleEndian.Uint32(b[i*opSize+opLine:])
		if first, end := uint32(f.id.lines), uint32(f.id.lines>>32); f.lines[i] < first || f.lines[i] > end {
			return false
		}
	}
	return true
}

func (f *function) position(opline uint64) uint64 {
	off := opline - f.id.opcodes
	if f.id.opcodes == 0 || off%opSize != 0 || off/opSize >= f.id.last {
		return 0
	}
	return off/opSize + 1
}

func (f *function) line(position uint64) int {
	switch end := int(f.id.lines >> 32); {
	case position == 0:
		return 0
	case f.first == end:
		return f.first
	case position > uint64(len(f.lines)):
		return 0
	}
	return int(f.lines[position-1])
}
