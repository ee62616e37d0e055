// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"hash/fnv"
	"maps"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type objectKind uint8

const (
	isCode   objectKind = iota
	isMethod            // of a C method
	isOwner             // of another method, for its class
)

type objectCache struct {
	objects                 managed.Objects[*object]
	walk                    *walk
	currentHeap, copiedHeap heap
	symbols                 uint64 // ruby_global_symbols; 0 means unknown

	byContent map[functionKey]*object
}

type object struct {
	managed.CacheEntry
	function   *function
	id         identity
	code, size uint64 // words
}

// Identity implements [managed.Identified].
func (o *object) Identity() identity { return o.id }

// function is shared by equal objects, as from repeated eval.
type function struct {
	object uint64
	kind   objectKind
	label  label
	file   string
	first  int
	lines  lines
}

type functionKey struct {
	kind   objectKind
	label  label
	file   string
	first  int
	tables uint64
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

func (c *objectCache) begin(at int64) {
	if c.objects.Begin(at) {
		maps.DeleteFunc(c.byContent, func(_ functionKey, o *object) bool { return c.objects.Of(o.Serial) == nil })
	}
}

func (c *objectCache) forget() {
	c.objects.Forget()
	c.byContent = nil
}

func (c *objectCache) add(addr uint64, o *object) {
	if c.byContent == nil {
		c.byContent = map[functionKey]*object{}
	}
	o.function.object = addr
	key := o.function.key()
	if same := c.byContent[key]; same != nil {
		o.Serial, o.function = same.Serial, same.function
	}
	c.byContent[key] = o
	c.objects.Add(addr, o)
}

// kindSource implements [managed.ObjectSource].
type kindSource struct {
	cache *objectCache
	kind  objectKind
}

func (c *objectCache) resolve(addr uint64, kind objectKind, f *frame) (*object, managed.ObjectStatus) {
	if o := c.objects.At(addr); o != nil && o.function.kind != kind {
		c.objects.Drop(addr)
	}
	o, status, live := managed.Prove(&c.objects, c.walk.view, addr, kindSource{c, kind})
	switch {
	case o == nil:
	case live && !c.leadsTo(f, addr, kind):
		return nil, managed.ObjectFreed // moved by GC.compact
	default:
		c.skipCopies(addr, o)
	}
	return o, status
}

// Identify implements [managed.ObjectSource].
func (s kindSource) Identify(addr uint64, now bool) (identity, managed.ObjectStatus) {
	if !now {
		return s.cache.copiedHeap.identify(addr, s.kind)
	}
	id, status := s.cache.currentHeap.identify(addr, s.kind)
	if status == managed.NotObject { // moved by GC.compact
		status = managed.ObjectFreed
	}
	return id, status
}

// leadsTo reports whether the frame of a thread that has not run leads to addr.
func (c *objectCache) leadsTo(f *frame, addr uint64, kind objectKind) bool {
	at := f.at + frameISeq
	switch kind {
	case isMethod:
		at = f.ep - 16
	case isOwner:
		return true // pinned, or updated in the frame
	}
	v, ok := c.walk.view.Current(at)
	return ok && v == addr
}

const lastingAge = int64(500 * time.Millisecond)

func (c *objectCache) skipCopies(addr uint64, o *object) {
	if c.objects.Skip.Has(addr) {
		return
	}
	if flags, ok := c.copiedHeap.memory.Word(addr); ok &&
		(c.currentHeap.isOld(flags) || c.walk.view.Sample.At-o.FirstRead > lastingAge) {
		c.objects.Skip.Add(addr)
	}
}

// Read implements [managed.ObjectSource].
func (s kindSource) Read(addr uint64, want *identity) (*object, managed.ObjectStatus) {
	c, kind := s.cache, s.kind
	readAt := procmem.Now()
	id, status := s.identifyNow(addr)
	if status != managed.ObjectKnown || want != nil && id != *want {
		return nil, managed.ObjectFreed
	}
	o := &object{function: &function{kind: kind}, id: id, CacheEntry: managed.CacheEntry{LastChecked: readAt}}
	ok := true
	switch kind {
	case isCode:
		ok = c.currentHeap.readISeq(addr, o)
	case isMethod:
		o.function.label.name, ok = c.currentHeap.nameOf(c.symbols, id.words[wordID])
		if c.currentHeap.qualified && ok {
			o.function.label.owner = c.currentHeap.ownerOf(addr)
		}
	case isOwner:
		o.function.label.name = c.currentHeap.ownerOf(addr)
	}
	if again, status := s.identifyNow(addr); !ok || status != managed.ObjectKnown || again != id {
		return nil, managed.ObjectFreed
	}
	o.FirstRead = procmem.Now()
	o.LastWalked = o.FirstRead
	c.add(addr, o)
	if flags, ok := c.currentHeap.memory.Word(addr); ok && c.currentHeap.isOld(flags) {
		c.objects.Skip.Add(addr)
	}
	return o, managed.ObjectKnown
}

func (s kindSource) identifyNow(addr uint64) (identity, managed.ObjectStatus) {
	s.cache.walk.view.Pages.Reset(s.cache.walk.view.Sample.Live)
	return s.cache.currentHeap.identify(addr, s.kind)
}
