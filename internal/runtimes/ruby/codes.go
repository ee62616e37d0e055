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
	isMethod            // entry of a C method
	isOwner             // entry of another method, for its class
)

// codes caches iseqs and method entries.
type codes struct {
	walk        *walk
	now, copied heap
	symbols     uint64 // ruby_global_symbols, 0: unknown

	byAddr   map[uint64]*object
	bySerial map[uint64]*function
	byText   map[functionText]*function
	serial   uint64
	known    managed.Known // not copied
	eviction managed.IdleEviction
	depth    int // nesting of resolved iseqs
	seen     contents
}

// object is an iseq or a method entry.
type object struct {
	*function
	id         identity
	code, size uint64 // instructions, their number of words
	places     places
	asked      int64 // last readAgain
	since      int64
	checked    int64 // last verification, CLOCK_MONOTONIC ns
	seen       int64 // last copy
}

// function is shared by equal objects, as of repeated eval.
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

type functionText struct {
	kind   objectKind
	label  label
	file   string
	first  int
	tables uint64 // hash of lines
}

func (f *function) text() functionText {
	h := fnv.New64a()
	var b [4]byte
	for _, line := range f.lines.entries {
		b[0], b[1], b[2], b[3] = byte(line), byte(line>>8), byte(line>>16), byte(line>>24)
		h.Write(b[:])
	}
	h.Write(f.lines.succ)
	return functionText{f.kind, f.label, f.file, f.first, h.Sum64()}
}

const mostCodes = 1 << 16

func (c *codes) begin(at int64) {
	if len(c.byAddr) > mostCodes || len(c.bySerial) > mostCodes {
		c.forget()
	}
	c.rest(at)
}

func (c *codes) forget() {
	for addr := range c.byAddr {
		c.known.Drop(addr)
	}
	c.byAddr, c.bySerial, c.byText = nil, nil, nil
}

// rest drops unused objects.
func (c *codes) rest(at int64) {
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
	for text, f := range c.byText {
		if f.seen < before {
			delete(c.byText, text)
		}
	}
}

// add adds an object, with the function of an equal one.
func (c *codes) add(addr uint64, o *object) {
	if c.byAddr == nil {
		c.byAddr, c.bySerial, c.byText = map[uint64]*object{}, map[uint64]*function{}, map[functionText]*function{}
	}
	text := o.text()
	if same := c.byText[text]; same != nil {
		same.seen = max(same.seen, o.seen)
		o.function = same
	} else {
		c.serial++
		f := o.function
		f.serial, f.object, f.seen = c.serial, addr, o.seen
		c.byText[text], c.bySerial[c.serial] = o.function, o.function
	}
	c.byAddr[addr] = o
}

type found uint8

const (
	isFreed found = iota
	isKnown
	notObject
)

// resolve gives the object that a frame provably led to.
func (c *codes) resolve(addr uint64, kind objectKind, f *frame) (*object, found) {
	o, what := c.prove(addr, kind, f)
	if o != nil {
		o.seen = max(o.seen, c.walk.sample.At)
		o.function.seen = max(o.function.seen, o.seen)
	}
	return o, what
}

func (c *codes) prove(addr uint64, kind objectKind, f *frame) (*object, found) {
	w := c.walk
	o := c.byAddr[addr]
	if o != nil && o.kind != kind {
		o = nil
	}
	id, what := c.copied.identify(addr, kind)
	switch {
	case what == notObject:
		return nil, notObject
	case what == isKnown: // copied in the stop
		if o != nil && o.id == id {
			c.leaveOut(addr, o)
			return o, isKnown
		}
		return c.readIdentified(addr, kind, &id)
	case o != nil && w.sample.At != 0 && o.since <= w.sample.At && o.checked >= w.sample.At:
		return o, isKnown
	case o == nil && !w.isLive():
		c.known.Drop(addr) // not copied, as it was known
		return nil, isFreed
	}
	before := o != nil && w.sample.At != 0 && o.since <= w.sample.At
	if o != nil && !before && !w.isLive() {
		return nil, isFreed
	}
	var at int64
	if o != nil {
		id, what, at = c.identifyAgain(addr, o)
	} else {
		at = procmem.Now()
		id, what = c.now.identify(addr, kind)
	}
	if what == isKnown && o != nil && o.id == id && before { // unchanged
		o.checked = at
		return o, isKnown
	}
	if !w.isLive() {
		c.known.Drop(addr)
		delete(c.byAddr, addr)
		return nil, isFreed
	}
	w.used = true
	switch {
	case what != isKnown:
		return nil, isFreed
	case o == nil || o.id != id:
		if o, what = c.read(addr, kind, nil); what != isKnown {
			return nil, what
		}
	}
	if !c.leadsTo(f, addr, kind) {
		return nil, isFreed // moved by GC.compact
	}
	o.checked = at
	return o, isKnown
}

// leadsTo reports whether a sleeper's frame leads to an object.
func (c *codes) leadsTo(f *frame, addr uint64, kind objectKind) bool {
	if f == nil {
		return false
	}
	at := f.at + frameISeq
	switch kind {
	case isMethod:
		at = f.env - 16
	case isOwner:
		return true // pinned or updated by the frame
	}
	v, ok := c.now.Word(at)
	return ok && v == addr
}

// longThere is a lasting object's age, ns.
const longThere = 500e6

// leaveOut stops copying an old or lasting object.
func (c *codes) leaveOut(addr uint64, o *object) {
	if c.known.Has(addr) {
		return
	}
	if flags, ok := c.copied.Word(addr); ok &&
		(c.now.isOld(flags) || c.walk.sample.At-o.since > longThere) {
		c.known.Add(addr)
	}
}

// readIdentified reads an object with a copied identity; if that has changed, from the copy, perhaps without all lines.
func (c *codes) readIdentified(addr uint64, kind objectKind, id *identity) (*object, found) {
	o, whole := c.readCopied(addr, kind, id)
	if !whole {
		if now, what := c.read(addr, kind, id); what == isKnown {
			return now, isKnown
		}
	}
	if o == nil {
		return nil, isFreed
	}
	c.add(addr, o)
	return o, isKnown
}

// readCopied reads an object from the copy; nil: incomplete; whole: with all lines. Precondition for iseqs: the
// thread has the interpreter lock.
func (c *codes) readCopied(addr uint64, kind objectKind, id *identity) (o *object, whole bool) {
	at := c.walk.sample.At
	o = &object{function: &function{kind: kind}, id: *id, since: at, checked: at, seen: at}
	ok := false
	switch {
	case kind == isMethod && !c.now.qualified:
		o.label.name, ok = c.now.nameOf(c.symbols, id.words[wordID])
		whole = ok
	case kind == isCode && c.walk.hasLock():
		whole, ok = c.copied.readISeq(addr, o, c.around)
	}
	if !ok {
		return nil, false
	}
	o.places = c.copied.placesOf(addr, o)
	return o, whole
}

func (c *codes) around(iseq uint64) (label, bool) {
	if c.depth == mostLevels {
		return label{}, false
	}
	c.depth++
	defer func() { c.depth-- }()
	o, what := c.resolve(iseq, isCode, nil)
	if what == isKnown {
		return o.label, true
	}
	c.read(iseq, isCode, nil) // for later samples
	return label{}, false
}

func (c *codes) aroundNow(iseq uint64) (l label, ok bool) {
	if c.depth == mostLevels {
		return l, false
	}
	c.depth++
	defer func() { c.depth-- }()
	return c.now.readLabel(c.now.at(iseq+iseqBody), c.aroundNow)
}

func (c *codes) read(addr uint64, kind objectKind, want *identity) (*object, found) {
	before := procmem.Now()
	id, what := c.now.identify(addr, kind)
	if what != isKnown || want != nil && id != *want {
		return nil, isFreed
	}
	o := &object{function: &function{kind: kind}, id: id, checked: before}
	ok := true
	switch kind {
	case isCode:
		var whole bool
		whole, ok = c.now.readISeq(addr, o, c.aroundNow)
		ok = ok && whole
	case isMethod:
		o.label.name, ok = c.now.nameOf(c.symbols, id.words[wordID])
		if c.now.qualified && ok {
			o.label.owner = c.now.ownerOf(addr)
		}
	case isOwner:
		o.label.name = c.now.ownerOf(addr)
	}
	if again, what := c.now.identify(addr, kind); !ok || what != isKnown || again != id {
		return nil, isFreed
	}
	o.places = c.now.placesOf(addr, o)
	o.since = procmem.Now()
	o.seen = o.since
	c.add(addr, o)
	if flags, ok := c.now.Word(addr); ok && c.now.isOld(flags) {
		c.known.Add(addr)
	}
	return o, isKnown
}
