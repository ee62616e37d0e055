// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

type nmethod struct {
	at            uint64 // of the header
	begin, end    uint64 // of the code
	complete      uint64 // offset of the complete frame
	method        uint64
	id            uint32 // compilation id
	compLevel     uint8
	native        bool // a native wrapper
	origPC        uint64
	deoptHandlers [2]uint64 // deoptimization handlers
	pcs           span
	scopes        span
	metadata      span // methods and others
	// Times of first read and last check, CLOCK_MONOTONIC ns.
	since, checked int64
}

type compiledCode struct {
	*validity
	code   map[uint64]*nmethod // by start of code
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
func (n *compiledCode) compiledAt(b *blob, addr uint64) (c nmethod, ok bool) {
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
	c = nmethod{
		at: at, begin: b.begin, end: b.end, complete: uint64(max(b.completeAt, 0)),
		method: l.NMethod.Method.in(head), id: uint32(l.NMethod.CompileID.in(head)),
		compLevel: uint8(l.NMethod.Level.in(head)), origPC: l.NMethod.OrigPC.in(head),
	}
	c.native = v.blobNameAt(l.CodeBlob.Name.in(head)).native
	n.deoptsOf(&c, head)
	n.spansOf(&c, head)
	return c, c.method != 0 && !m.failed
}

const nativeMethod = "native nmethod"

func (n *compiledCode) deoptsOf(c *nmethod, head []byte) {
	for i := range n.layout.deopts {
		f := &n.layout.deopts[i]
		at := f.in(head)
		if f.size < 8 {
			at = c.at + at
		}
		c.deoptHandlers[i] = at
	}
}

func (n *compiledCode) spansOf(c *nmethod, head []byte) {
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
		c.metadata = span{base + (meta[2].in(head)+7)&^7, base + meta[1].in(head)}
	case n.layout.scopesIn == scopesApart: // JDK 23 and 24
		c.metadata = span{c.at + l.CodeBlob.DataOffset.in(head) + meta[0].in(head), c.at + l.CodeBlob.Size.in(head)}
	default:
		c.metadata = span{c.at + meta[0].in(head), c.scopes.low}
	}
}

// compiledOf reads a compiled method. It enables the read cache; the caller disables it.
func (n *compiledCode) compiledOf(b *blob, pc uint64) *nmethod {
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

func (c *nmethod) same(now *nmethod) bool {
	a, b := *c, *now
	a.since, a.checked, b.since, b.checked = 0, 0, 0, 0
	return a == b
}

// cookie is never 0.
func (c *nmethod) cookie() uint64 { return uint64(c.id)<<32 | uint64(uint32(c.method>>3)) | 1 }

func (n *compiledCode) isUnchanged(c *nmethod) bool {
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
func (n *compiledCode) compiledRef(c *nmethod, pc uint64, caller bool) (r managed.Ref, read bool) {
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

// deoptimizedRef gives a position by the original return address in the frame (nmethod::orig_pc_addr).
func (n *compiledCode) deoptimizedRef(f *frames.Frame, c *nmethod, r managed.Ref) managed.Ref {
	pc, ok := n.sample.Mem.Word(f.SP + c.origPC)
	if !ok || f.SP == 0 || pc <= c.begin || pc > c.end {
		return r
	}
	r, _ = n.compiledRef(c, pc, true)
	return r
}

const maxCode = 1 << 30
