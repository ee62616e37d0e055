// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// compiled is what the header of a compiled method (an nmethod) says.
type compiled struct {
	at         uint64 // of its header
	begin, end uint64 // of its code
	complete   uint64 // where its frame is made
	method     uint64
	id         uint32 // of its compilation: never used again by this machine
	level      uint8
	known      bool // the header is one of a compiled method, by its name
	native     bool // a wrapper around a native method
	orig       uint64
	deopts     [2]uint64 // addresses that stand for the return address in a frame that is to be replaced
	pcs        span      // of PcDesc
	scopes     span
	metas      span // pointers to methods, among others
	// since is when it was read first, checked when it was still the same.
	since, checked int64
}

// span is a piece of memory.
type span struct{ low, high uint64 }

func (s span) size() uint64 {
	if s.high < s.low {
		return 0
	}
	return s.high - s.low
}

// compiledAt reads the header of the blob whose code an address is in; false if it is no method.
func (n *Names) compiledAt(b *blob, addr uint64) (c compiled, ok bool) {
	v, l := n.v, &n.l.at
	h := v.heapOf(addr)
	if h == nil {
		return c, false
	}
	m := v.memory()
	block, ok := h.block(m, addr)
	if !ok {
		return c, false
	}
	at := block + l.blockBytes
	head := v.head[:n.l.entry]
	if !m.bytes(at, head) {
		return c, false
	}
	c = compiled{
		at: at, begin: b.begin, end: b.end, complete: uint64(max(b.complete, 0)),
		method: l.method.in(head), id: uint32(l.compileID.in(head)), level: uint8(l.level.in(head)), orig: l.orig.in(head),
	}
	name := v.named(l.blobName.in(head))
	c.known, c.native = name.kind == kindMethod, name.native
	n.deoptsOf(&c, head)
	n.spansOf(&c, head)
	return c, c.method != 0 && !m.failed
}

// nativeMethod is the name of blobs that call native methods.
const nativeMethod = "native nmethod"

// deoptsOf fills in where frames return to that are to be replaced.
func (n *Names) deoptsOf(c *compiled, head []byte) {
	for i := range n.l.at.deopts {
		f := &n.l.at.deopts[i]
		at := f.in(head)
		if f.size < 8 {
			at = c.at + at
		}
		c.deopts[i] = at
	}
}

// spansOf fills in where the debugging information is.
func (n *Names) spansOf(c *compiled, head []byte) {
	l := &n.l.at
	pcs, s := l.pcs.in(head), l.scopes
	switch n.l.scopes[0] {
	case wantScopes[0][0]:
		base, size, data := s[0].in(head), s[1].in(head), s[2].in(head)
		c.pcs, c.scopes = span{base + pcs, base + data}, span{base + data, base + size}
		if data < pcs {
			c.pcs, c.scopes = span{base + pcs, base + size}, span{base + data, base + pcs}
		}
	case wantScopes[1][0]:
		c.pcs = span{c.at + pcs, c.at + s[1].in(head)}
		c.scopes = span{s[0].in(head), c.pcs.low}
	default:
		c.pcs = span{c.at + pcs, c.at + s[1].in(head)}
		c.scopes = span{c.at + s[0].in(head), c.pcs.low}
	}
	switch meta := l.metadata; {
	case len(meta) > 1:
		base := meta[0].in(head)
		c.metas = span{base + (meta[2].in(head)+7)&^7, base + meta[1].in(head)}
	case n.l.scopes[0] == wantScopes[0][0]: // JDK 23 and 24: behind the oops
		c.metas = span{c.at + l.dataOffset.in(head) + meta[0].in(head), c.at + l.blobSize.in(head)}
	default:
		c.metas = span{c.at + meta[0].in(head), c.scopes.low}
	}
}

// Bounds of what is read of a method's debugging information.
const (
	maxScopes = 16 << 20
	maxPcs    = 16 << 20
	window    = 4096
)

// scopesAt gives the scopes of the places around an offset in the code, as offsets in the scopes' data. next is
// that of the first place behind it for which there is one, prev that of the last one up to it; 0: there is none.
// An instruction lies between places, and which methods it belongs to is told for places only: those that both have
// in common.
func (n *Names) scopesAt(c *compiled, off int32) (prev, next uint32, ok bool) {
	n.place = -1
	size := n.l.at.pcBytes
	if size < max(n.l.at.pcOffset.offset, n.l.at.pcScope.offset)+4 || c.pcs.size() > maxPcs || c.pcs.size()%size != 0 {
		return 0, 0, false
	}
	// The first entry and the last are guards, at −1 and behind the end.
	low, high := uint64(0), c.pcs.size()/size
	for (high-low)*size > window {
		mid := (low + high) / 2
		b := n.buf[:size]
		if !n.v.memory().bytes(c.pcs.low+mid*size, b) {
			return 0, 0, false
		}
		if n.pcOf(b) <= off {
			low = mid
		} else {
			high = mid + 1
		}
	}
	b := n.buf[:(high-low)*size]
	if !n.v.memory().bytes(c.pcs.low+low*size, b) {
		return 0, 0, false
	}
	entry := func(i uint64) (at int32, scope uint32) {
		e := b[i*size:]
		return n.pcOf(e), binary.LittleEndian.Uint32(e[n.l.at.pcScope.offset:])
	}
	first, end := uint64(0), high-low // the first entry behind the offset
	for first < end {
		if mid := (first + end) / 2; n.pcOf(b[mid*size:]) <= off {
			first = mid + 1
		} else {
			end = mid
		}
	}
	if first > 0 {
		if at, scope := entry(first - 1); at >= 0 {
			prev = scope
		}
	}
	if first < high-low {
		if at, scope := entry(first); uint64(at) <= c.end-c.begin {
			next, n.place = scope, at
		}
	}
	return prev, next, true
}

func (n *Names) pcOf(b []byte) int32 { return int32At(b[n.l.at.pcOffset.offset:]) }

// compiledOf gives a compiled method, read anew. What is read is kept: the caller ends that.
func (n *Names) compiledOf(b *blob, pc uint64) *compiled {
	at := n.v.near.use(n.at)
	now, ok := n.compiledAt(b, pc)
	if begin, _ := n.v.layout.boundsOf(n.v.head[:], now.at); !ok || begin != b.begin { // it is another one by now
		delete(n.code, b.begin)
		return nil
	}
	now.since, now.checked = at, at
	if c := n.code[b.begin]; c != nil && c.is(&now) {
		c.checked = at
		return c
	}
	if len(n.code) >= maxMethods {
		clear(n.code)
	}
	c := &now
	n.code[b.begin] = c
	return c
}

// is reports whether both are the same compilation, whenever they were read.
func (c *compiled) is(now *compiled) bool {
	a, b := *c, *now
	a.since, a.checked, b.since, b.checked = 0, 0, 0, 0
	return a == b
}

// cookie tells it from all others: the numbers of compilations begin at 1.
func (c *compiled) cookie() uint64 { return uint64(c.id)<<32 | uint64(uint32(c.method>>3)) | 1 }

// same reports whether a compiled method is still there, by what no other one has: the number of its compilation.
func (n *Names) same(c *compiled) bool {
	at := n.v.near.use(n.at)
	defer n.v.near.done()
	idAt, methodAt := n.idOf(c)
	n.v.near.fetch(idAt, methodAt)
	m := n.v.memory()
	id, method := m.int32(idAt.addr), m.word(methodAt.addr)
	if m.failed || uint32(id) != c.id || method != c.method {
		return false
	}
	c.checked = at
	return true
}

// idOf gives where that number is, and the method.
func (n *Names) idOf(c *compiled) (id, method extent) {
	return extent{c.at + n.l.at.compileID.offset, 4}, extent{c.at + n.l.at.method.offset, 8}
}

// compiledRef gives the identity of a place in a compiled method. One whose debugging information cannot be read is as
// one that has been freed: what is inlined is not known.
func (n *Names) compiledRef(c *compiled, pc uint64, caller bool) (r managed.Ref, read bool) {
	r = managed.Ref{Object: c.begin, Kind: refCompiled, Cookie: c.cookie()}
	off := pc - c.begin
	if c.native || off > maxCode || off < c.complete {
		return r, true
	}
	at := int32(off)
	if caller {
		at-- // a return address has a place of its own
	}
	prev, next, ok := n.scopesAt(c, at)
	switch {
	case !ok:
		r.Cookie = 0
	case !caller:
		r.Position = uint64(next)<<32 | uint64(prev)
	case n.place == int32(off):
		r.Position = uint64(next)<<32 | uint64(next)
	}
	return r, ok
}

// deoptimized gives the place of a frame that is to be replaced by interpreted ones: its return address stands for
// another one, which the frame has kept (nmethod::orig_pc_addr).
func (n *Names) deoptimized(f *frames.Frame, c *compiled, r managed.Ref) managed.Ref {
	pc, ok := n.sample.Mem.Word(f.SP + c.orig)
	if !ok || f.SP == 0 || pc <= c.begin || pc > c.end {
		return r
	}
	r, _ = n.compiledRef(c, pc, true)
	return r
}

// maxCode is more than any method's code has, in bytes.
const maxCode = 1 << 30

// call is one method of a place in compiled code, and the index of its bytecode; −1: before the first.
type call struct {
	method uint64
	bci    int32
}

// maxInlined bounds the methods that are inlined into one another at one place.
const maxInlined = 256

// invocation is what bytecode indices are written from (InvocationEntryBci).
const invocation = -1

// chain appends the methods of a place, the innermost inlined one first (ScopeDesc::decode_body: the sender's place,
// the method's place in the list, the bytecode's index). The outermost one must be the method that was compiled: that
// proves that the data is what it is taken for.
func (n *Names) chain(c *compiled, scope uint32, out []call) ([]call, bool) {
	if c.scopes.size() > maxScopes || c.metas.size() > maxScopes {
		return out, false
	}
	for range maxInlined {
		s := stream{b: n.scopeBytes(c, scope), least: n.l.least}
		sender, index, bci := s.number(), s.number(), int32(s.number())+invocation
		if s.failed || index == 0 || 8*uint64(index) > c.metas.size() {
			return out, false
		}
		m := n.v.memory()
		method := m.word(c.metas.low + 8*uint64(index-1))
		if m.failed {
			n.unread = true
			return out, false
		}
		out = append(out, call{method, bci})
		if sender == 0 {
			return out, method == c.method
		}
		if sender >= scope { // a sender is written before what it calls
			return out, false
		}
		scope = sender
	}
	return out, false
}

// scopeBytes gives the three numbers that a scope begins with. They are there until it is called again.
func (n *Names) scopeBytes(c *compiled, scope uint32) []byte {
	left := c.scopes.size() - min(uint64(scope), c.scopes.size())
	b := n.scope[:min(left, uint64(len(n.scope)))]
	if scope == 0 {
		return nil
	}
	if !n.v.memory().bytes(c.scopes.low+uint64(scope), b) {
		n.unread = true
		return nil
	}
	return b
}

// HotSpot keeps numbers of debugging information in 1 to 5 bytes, the low ones first (compressedStream.cpp,
// utilities/unsigned5.hpp). A byte below a limit ends a number. The limit leaves 64 codes for bytes that go on, each
// with 6 bits. Since JDK 20 the byte 0 is in no number, so that all others count from 1.
const (
	moreBits  = 6
	moreCodes = 1 << moreBits
	maxBytes5 = 5
)

// stream reads such numbers out of memory that was copied. After a number that does not end it has failed, and gives 0.
type stream struct {
	b      []byte
	least  byte // the smallest byte in a number
	failed bool
}

// byte reads one byte.
func (s *stream) byte() byte {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

// number reads an unsigned number.
func (s *stream) number() uint32 {
	limit := uint32(256 - moreCodes - int(s.least))
	sum := uint32(0)
	for i := range maxBytes5 {
		c := s.byte()
		if c < s.least {
			s.failed = true
		}
		if s.failed {
			return 0
		}
		v := uint32(c - s.least)
		sum += v << (moreBits * i)
		if v < limit {
			break
		}
	}
	return sum
}

// signed reads a number whose lowest bit is its sign.
func (s *stream) signed() int32 {
	v := s.number()
	return int32(v>>1) ^ -int32(v&1)
}
