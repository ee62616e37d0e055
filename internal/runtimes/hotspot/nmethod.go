// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// compiled is an nmethod's header.
type compiled struct {
	at         uint64 // of the header
	begin, end uint64 // of the code
	complete   uint64 // offset at which the frame is complete
	method     uint64
	id         uint32 // compilation id
	level      uint8
	isMethod   bool
	native     bool // a native wrapper
	orig       uint64
	deopts     [2]uint64 // deoptimization handlers
	pcs        span
	scopes     span
	metas      span // methods and others
	// Times of first read and last check, CLOCK_MONOTONIC ns.
	since, checked int64
}

type compiledCode struct {
	*moments
	code   map[uint64]*compiled // by start of code
	calls  []call
	others []call
	place  int32
	unread bool
	scope  [16]byte
	buf    [window]byte
}

type span struct{ low, high uint64 }

func (s span) size() uint64 {
	if s.high < s.low {
		return 0
	}
	return s.high - s.low
}

// compiledAt reads the header; false if b is no compiled method.
func (n *compiledCode) compiledAt(b *blob, addr uint64) (c compiled, ok bool) {
	v, l := n.vm, &n.layout.at
	h := v.heapOf(addr)
	if h == nil {
		return c, false
	}
	m := v.memory()
	block, ok := h.block(m, addr)
	if !ok {
		return c, false
	}
	at := block + l.HeapBlock.Bytes
	head := v.head[:n.layout.entry]
	if !m.bytes(at, head) {
		return c, false
	}
	c = compiled{
		at: at, begin: b.begin, end: b.end, complete: uint64(max(b.complete, 0)),
		method: l.NMethod.Method.in(head), id: uint32(l.NMethod.CompileID.in(head)),
		level: uint8(l.NMethod.Level.in(head)), orig: l.NMethod.OrigPC.in(head),
	}
	name := v.blobNameAt(l.CodeBlob.Name.in(head))
	c.isMethod, c.native = name.kind == kindMethod, name.native
	n.deoptsOf(&c, head)
	n.spansOf(&c, head)
	return c, c.method != 0 && !m.failed
}

const nativeMethod = "native nmethod"

func (n *compiledCode) deoptsOf(c *compiled, head []byte) {
	for i := range n.layout.deopts {
		f := &n.layout.deopts[i]
		at := f.in(head)
		if f.size < 8 {
			at = c.at + at
		}
		c.deopts[i] = at
	}
}

func (n *compiledCode) spansOf(c *compiled, head []byte) {
	l := &n.layout.at
	pcs, s := l.NMethod.ScopesPCs.in(head), n.layout.scopes
	switch n.layout.scopesIn {
	case scopesApart:
		base, size, data := s[0].in(head), s[1].in(head), s[2].in(head)
		c.pcs, c.scopes = span{base + pcs, base + data}, span{base + data, base + size}
		if data < pcs {
			c.pcs, c.scopes = span{base + pcs, base + size}, span{base + data, base + pcs}
		}
	case scopesByAddress:
		c.pcs = span{c.at + pcs, c.at + s[1].in(head)}
		c.scopes = span{s[0].in(head), c.pcs.low}
	default:
		c.pcs = span{c.at + pcs, c.at + s[1].in(head)}
		c.scopes = span{c.at + s[0].in(head), c.pcs.low}
	}
	switch meta := n.layout.metadata; {
	case len(meta) > 1:
		base := meta[0].in(head)
		c.metas = span{base + (meta[2].in(head)+7)&^7, base + meta[1].in(head)}
	case n.layout.scopesIn == scopesApart: // JDK 23 and 24
		c.metas = span{c.at + l.CodeBlob.DataOffset.in(head) + meta[0].in(head), c.at + l.CodeBlob.Size.in(head)}
	default:
		c.metas = span{c.at + meta[0].in(head), c.scopes.low}
	}
}

const (
	maxScopes = 16 << 20
	maxPcs    = 16 << 20
	window    = 4096
)

// scopesAt gives the scopes of the places around an offset in the code, as offsets in the scopes' data: next is after
// it, prev at or before; 0: none. Instructions between places belong to the methods common to both.
func (n *compiledCode) scopesAt(c *compiled, off int32) (prev, next uint32, ok bool) {
	n.place = -1
	d := &n.layout.at.PcDesc
	size := d.Bytes
	if size < max(d.PCOffset.offset, d.Scope.offset)+4 || c.pcs.size() > maxPcs || c.pcs.size()%size != 0 {
		return 0, 0, false
	}
	// First and last are guards, at −1 and the end.
	low, high := uint64(0), c.pcs.size()/size
	for (high-low)*size > window {
		mid := (low + high) / 2
		b := n.buf[:size]
		if !n.vm.memory().bytes(c.pcs.low+mid*size, b) {
			return 0, 0, false
		}
		if n.pcOf(b) <= off {
			low = mid
		} else {
			high = mid + 1
		}
	}
	b := n.buf[:(high-low)*size]
	if !n.vm.memory().bytes(c.pcs.low+low*size, b) {
		return 0, 0, false
	}
	entry := func(i uint64) (at int32, scope uint32) {
		e := b[i*size:]
		return n.pcOf(e), binary.LittleEndian.Uint32(e[n.layout.at.PcDesc.Scope.offset:])
	}
	first, end := uint64(0), high-low
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

func (n *compiledCode) pcOf(b []byte) int32 { return int32At(b[n.layout.at.PcDesc.PCOffset.offset:]) }

// compiledOf reads a compiled method. It enables the read cache; the caller disables it.
func (n *compiledCode) compiledOf(b *blob, pc uint64) *compiled {
	at := n.vm.cached.enable(n.at)
	now, ok := n.compiledAt(b, pc)
	if begin, _ := n.vm.layout.boundsOf(n.vm.head[:], now.at); !ok || begin != b.begin { // replaced
		delete(n.code, b.begin)
		return nil
	}
	now.since, now.checked = at, at
	if c := n.code[b.begin]; c != nil && c.same(&now) {
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

func (c *compiled) same(now *compiled) bool {
	a, b := *c, *now
	a.since, a.checked, b.since, b.checked = 0, 0, 0, 0
	return a == b
}

// cookie gives the Cookie of a compiled method's Refs, never 0.
func (c *compiled) cookie() uint64 { return uint64(c.id)<<32 | uint64(uint32(c.method>>3)) | 1 }

// isUnchanged reports whether compilation id and method are unchanged.
func (n *compiledCode) isUnchanged(c *compiled) bool {
	at := n.vm.cached.enable(n.at)
	defer n.vm.cached.disable()
	l, m := &n.layout.at.NMethod, n.vm.memory()
	id, method := m.int32(c.at+l.CompileID.offset), m.word(c.at+l.Method.offset)
	if m.failed || uint32(id) != c.id || method != c.method {
		return false
	}
	c.checked = at
	return true
}

// compiledRef identifies a place in a compiled method, as freed (Cookie 0) if its debugging information is unreadable.
func (n *compiledCode) compiledRef(c *compiled, pc uint64, caller bool) (r managed.Ref, read bool) {
	r = managed.Ref{Object: c.begin, Kind: refCompiled, Cookie: c.cookie()}
	off := pc - c.begin
	if c.native || off > maxCode || off < c.complete {
		return r, true
	}
	at := int32(off)
	if caller {
		at-- // return addresses have their own places
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

// deoptimized gives a deoptimized frame's position, by the original return address in it (nmethod::orig_pc_addr).
func (n *compiledCode) deoptimized(f *frames.Frame, c *compiled, r managed.Ref) managed.Ref {
	pc, ok := n.sample.Mem.Word(f.SP + c.orig)
	if !ok || f.SP == 0 || pc <= c.begin || pc > c.end {
		return r
	}
	r, _ = n.compiledRef(c, pc, true)
	return r
}

const maxCode = 1 << 30

// call is a method at a bytecode index; −1: before the first.
type call struct {
	method uint64
	bci    int32
}

const maxInlined = 256

// invocation is InvocationEntryBci, the base of bytecode indices.
const invocation = -1

// chain appends the methods of a scope, innermost first (ScopeDesc::decode_body: sender's scope, method's index,
// bytecode index). The outermost must be the compiled method.
func (n *compiledCode) chain(c *compiled, scope uint32, out []call) ([]call, bool) {
	if c.scopes.size() > maxScopes || c.metas.size() > maxScopes {
		return out, false
	}
	for range maxInlined {
		s := stream{b: n.scopeBytes(c, scope), least: n.layout.least}
		sender, index, bci := s.number(), s.number(), int32(s.number())+invocation
		if s.failed || index == 0 || 8*uint64(index) > c.metas.size() {
			return out, false
		}
		m := n.vm.memory()
		method := m.word(c.metas.low + 8*uint64(index-1))
		if m.failed {
			n.unread = true
			return out, false
		}
		out = append(out, call{method, bci})
		if sender == 0 {
			return out, method == c.method
		}
		if sender >= scope { // senders precede their callees
			return out, false
		}
		scope = sender
	}
	return out, false
}

// scopeBytes reads a scope, valid until the next call.
func (n *compiledCode) scopeBytes(c *compiled, scope uint32) []byte {
	left := c.scopes.size() - min(uint64(scope), c.scopes.size())
	b := n.scope[:min(left, uint64(len(n.scope)))]
	if scope == 0 {
		return nil
	}
	if !n.vm.memory().bytes(c.scopes.low+uint64(scope), b) {
		n.unread = true
		return nil
	}
	return b
}

// Numbers of 1 to 5 bytes, low first (compressedStream.cpp, utilities/unsigned5.hpp). A byte below 192 ends a number;
// others carry 6 bits. Since JDK 20 no byte is 0: all count from 1.
const (
	moreBits  = 6
	moreCodes = 1 << moreBits
	maxBytes5 = 5
)

// stream decodes these numbers, and gives 0 after an incomplete one.
type stream struct {
	b      []byte
	least  byte
	failed bool
}

func (s *stream) byte() byte {
	if len(s.b) == 0 {
		s.failed = true
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

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

// signed decodes a number with its sign in bit 0.
func (s *stream) signed() int32 {
	v := s.number()
	return int32(v>>1) ^ -int32(v&1)
}
