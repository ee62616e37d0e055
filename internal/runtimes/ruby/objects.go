// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"hash/fnv"

	"prywalk/internal/managed"
	"prywalk/internal/procmem"
)

type objectKind uint8

const (
	isCode   objectKind = iota
	isMethod            // method entry of a C method
	isOwner             // method entry of another method, for its class
)

type objectCache struct {
	walk                    *walk
	currentHeap, copiedHeap heap
	symbols                 uint64 // ruby_global_symbols, 0: unknown

	byAddr   map[uint64]*object
	bySerial map[uint64]*function
	byKey    map[functionKey]*function
	serial   uint64
	known    managed.SkipSet // not copied by stops
	eviction managed.IdleEviction
	depth    int // nesting of enclosing iseqs
	batch    verifyBatch
}

type object struct {
	*function
	id         identity
	code, size uint64 // of the instructions, words
	places     places
	asked      int64 // the last [objectCache.readBatch] with it
	since      int64
	checked    int64 // last verification, CLOCK_MONOTONIC ns
	seen       int64 // last copy with it
}

// function is shared by equal objects, as from repeated eval.
type function struct {
	serial uint64
	object uint64
	kind   objectKind
	label  label
	file   string
	first  int
	lines  lines
	seen   int64
}

type functionKey struct {
	kind   objectKind
	label  label
	file   string
	first  int
	tables uint64 // hash of lines
}

func (f *function) key() functionKey {
	h := fnv.New64a()
	var b [4]byte
	for _, line := range f.lines.entries {
		b[0], b[1], b[2], b[3] = byte(line), byte(line>>8), byte(line>>16), byte(line>>24)
		h.Write(b[:])
	}
	h.Write(f.lines.succ)
	return functionKey{f.kind, f.label, f.file, f.first, h.Sum64()}
}

const maxCodes = 1 << 16

func (c *objectCache) begin(at int64) {
	if len(c.byAddr) > maxCodes || len(c.bySerial) > maxCodes {
		c.forget()
	}
	c.evictIdle(at)
}

func (c *objectCache) forget() {
	for addr := range c.byAddr {
		c.known.Drop(addr)
	}
	c.byAddr, c.bySerial, c.byKey = nil, nil, nil
}

func (c *objectCache) evictIdle(at int64) {
	before, due := c.eviction.Due(at)
	if !due {
		return
	}
	for addr, o := range c.byAddr {
		if o.seen < before {
			c.known.Drop(addr)
			delete(c.byAddr, addr)
		}
	}
	for serial, f := range c.bySerial {
		if f.seen < before {
			delete(c.bySerial, serial)
		}
	}
	for key, f := range c.byKey {
		if f.seen < before {
			delete(c.byKey, key)
		}
	}
}

func (c *objectCache) add(addr uint64, o *object) {
	if c.byAddr == nil {
		c.byAddr, c.bySerial, c.byKey = map[uint64]*object{}, map[uint64]*function{}, map[functionKey]*function{}
	}
	key := o.key()
	if same := c.byKey[key]; same != nil {
		same.seen = max(same.seen, o.seen)
		o.function = same
	} else {
		c.serial++
		f := o.function
		f.serial, f.object, f.seen = c.serial, addr, o.seen
		c.byKey[key], c.bySerial[c.serial] = o.function, o.function
	}
	c.byAddr[addr] = o
}

type objectStatus uint8

const (
	objectFreed objectStatus = iota
	objectKnown
	notObject
)

// resolve returns the object that a frame provably led to.
func (c *objectCache) resolve(addr uint64, kind objectKind, f *frame) (*object, objectStatus) {
	o, status := c.prove(addr, kind, f)
	if o != nil {
		o.seen = max(o.seen, c.walk.Sample.At)
		o.function.seen = max(o.function.seen, o.seen)
	}
	return o, status
}

// prove accepts the identity copied in the stop; then, of what was known before it, an unchanged identity after it;
// then current memory, if the thread has not run since.
func (c *objectCache) prove(addr uint64, kind objectKind, f *frame) (*object, objectStatus) {
	o := c.byAddr[addr]
	if o != nil && o.kind != kind {
		o = nil
	}
	switch id, status := c.copiedHeap.identify(addr, kind); {
	case status == notObject:
		return nil, notObject
	case status == objectKnown && o != nil && o.id == id:
		c.skipCopies(addr, o)
		return o, objectKnown
	case status == objectKnown:
		return c.readIdentified(addr, kind, &id)
	}
	w := c.walk // not copied
	knownBefore := o != nil && w.Sample.At != 0 && o.since <= w.Sample.At
	switch {
	case knownBefore && o.checked >= w.Sample.At:
		return o, objectKnown
	case o == nil && !w.IsLive():
		c.known.Drop(addr) // the next stop copies it
		return nil, objectFreed
	case o != nil && !knownBefore && !w.IsLive():
		return nil, objectFreed
	}
	now := c.identifyNow(addr, kind, o)
	if knownBefore && now.status == objectKnown && o.id == now.id { // unchanged
		o.checked = now.at
		return o, objectKnown
	}
	return c.proveByFrame(addr, kind, f, o, now)
}

// currentIdentity is an object's identity as read after the stop, at a time of CLOCK_MONOTONIC, ns.
type currentIdentity struct {
	id     identity
	status objectStatus
	at     int64
}

// identifyNow reads the identity of an object; known is nil if none is known at the address.
func (c *objectCache) identifyNow(addr uint64, kind objectKind, known *object) (now currentIdentity) {
	if known != nil {
		now.id, now.status, now.at = c.identifyInBatch(addr, known)
		return now
	}
	now.at = procmem.Now()
	now.id, now.status = c.currentHeap.identify(addr, kind)
	return now
}

// proveByFrame accepts the object that is at the address now if the thread has not run since the stop, and its frame
// still leads there. known is nil if none is known at the address.
func (c *objectCache) proveByFrame(
	addr uint64, kind objectKind, f *frame, known *object, now currentIdentity,
) (*object, objectStatus) {
	if !c.walk.IsLive() {
		c.known.Drop(addr)
		delete(c.byAddr, addr)
		return nil, objectFreed
	}
	c.walk.UsedLive = true
	if now.status != objectKnown {
		return nil, objectFreed
	}
	o := known
	if o == nil || o.id != now.id {
		var status objectStatus
		if o, status = c.read(addr, kind, nil); status != objectKnown {
			return nil, status
		}
	}
	if !c.leadsTo(f, addr, kind) {
		return nil, objectFreed // moved by GC.compact
	}
	o.checked = now.at
	return o, objectKnown
}

// leadsTo reports whether the frame of a thread that has not run leads to addr.
func (c *objectCache) leadsTo(f *frame, addr uint64, kind objectKind) bool {
	if f == nil {
		return false
	}
	at := f.at + frameISeq
	switch kind {
	case isMethod:
		at = f.ep - 16
	case isOwner:
		return true // pinned, or updated in the frame
	}
	v, ok := c.currentHeap.Word(at)
	return ok && v == addr
}

// lastingAge is in ns.
const lastingAge = 500e6

// skipCopies excepts an old or lasting object from copies.
func (c *objectCache) skipCopies(addr uint64, o *object) {
	if c.known.Has(addr) {
		return
	}
	if flags, ok := c.copiedHeap.Word(addr); ok &&
		(c.currentHeap.isOld(flags) || c.walk.Sample.At-o.since > lastingAge) {
		c.known.Add(addr)
	}
}

// readIdentified reads an object with a copied identity; if that has changed, from the copy, perhaps without all lines.
func (c *objectCache) readIdentified(addr uint64, kind objectKind, id *identity) (*object, objectStatus) {
	o, whole := c.readCopied(addr, kind, id)
	if !whole {
		if now, status := c.read(addr, kind, id); status == objectKnown {
			return now, objectKnown
		}
	}
	if o == nil {
		return nil, objectFreed
	}
	c.add(addr, o)
	return o, objectKnown
}

// readCopied reads an object from the copy; nil: incomplete; whole: with all lines. For an iseq the thread must
// have had the interpreter lock.
func (c *objectCache) readCopied(addr uint64, kind objectKind, id *identity) (o *object, whole bool) {
	at := c.walk.Sample.At
	o = &object{function: &function{kind: kind}, id: *id, since: at, checked: at, seen: at}
	ok := false
	switch {
	case kind == isMethod && !c.currentHeap.qualified:
		o.label.name, ok = c.currentHeap.nameOf(c.symbols, id.words[wordID])
		whole = ok
	case kind == isCode && c.walk.hasLock():
		whole, ok = c.copiedHeap.readISeq(addr, o, c.enclosingCopied)
	}
	if !ok {
		return nil, false
	}
	o.places = c.copiedHeap.placesOf(addr, o)
	return o, whole
}

// enclosingCopied is an [enclosingLabel] as of the stop.
func (c *objectCache) enclosingCopied(iseq uint64) (label, bool) {
	if c.depth == maxLevels {
		return label{}, false
	}
	c.depth++
	defer func() { c.depth-- }()
	o, status := c.resolve(iseq, isCode, nil)
	if status == objectKnown {
		return o.label, true
	}
	c.read(iseq, isCode, nil) // for later samples
	return label{}, false
}

// enclosingCurrent is an [enclosingLabel] as of now.
func (c *objectCache) enclosingCurrent(iseq uint64) (l label, ok bool) {
	if c.depth == maxLevels {
		return l, false
	}
	c.depth++
	defer func() { c.depth-- }()
	return c.currentHeap.readLabel(c.currentHeap.word(iseq+iseqBody), c.enclosingCurrent)
}

// read reads current memory between two equal identities (want if not nil).
func (c *objectCache) read(addr uint64, kind objectKind, want *identity) (*object, objectStatus) {
	readAt := procmem.Now()
	id, status := c.currentHeap.identify(addr, kind)
	if status != objectKnown || want != nil && id != *want {
		return nil, objectFreed
	}
	o := &object{function: &function{kind: kind}, id: id, checked: readAt}
	ok := true
	switch kind {
	case isCode:
		var whole bool
		whole, ok = c.currentHeap.readISeq(addr, o, c.enclosingCurrent)
		ok = ok && whole
	case isMethod:
		o.label.name, ok = c.currentHeap.nameOf(c.symbols, id.words[wordID])
		if c.currentHeap.qualified && ok {
			o.label.owner = c.currentHeap.ownerOf(addr)
		}
	case isOwner:
		o.label.name = c.currentHeap.ownerOf(addr)
	}
	if again, status := c.currentHeap.identify(addr, kind); !ok || status != objectKnown || again != id {
		return nil, objectFreed
	}
	o.places = c.currentHeap.placesOf(addr, o)
	o.since = procmem.Now()
	o.seen = o.since
	c.add(addr, o)
	if flags, ok := c.currentHeap.Word(addr); ok && c.currentHeap.isOld(flags) {
		c.known.Add(addr)
	}
	return o, objectKnown
}
