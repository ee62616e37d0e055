// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// nmethod is a compiled method (code/nmethod.hpp).
type nmethod struct {
	header        uint64
	begin, end    uint64
	complete      uint64 // offset of the complete frame
	method        uint64
	id            uint32
	compLevel     uint8
	native        bool
	origPC        uint64
	deoptHandlers [2]uint64
	pcs           span
	scopes        span
	metadata      span // methods and others
	// in nanoseconds of CLOCK_MONOTONIC.
	since, checked int64
}

type compiledCode struct {
	vm       *VM
	validity *validity
	byStart  map[uint64]*nmethod
	calls    []call
	others   []call
	place    int32 // offset of the place after the last scopesAt's; −1 means none
	unread   bool
	scope    [16]byte
	pcDesc   [maxPcDesc]byte
}

// high is excluded.
type span struct{ low, high uint64 }

func (s span) size() uint64 {
	if s.high < s.low {
		return 0
	}
	return s.high - s.low
}

func (c *compiledCode) compiledAt(b *blob, addr uint64) (nm nmethod, ok bool) {
	v, l := c.vm, c.vm.nameLayout
	h := v.heapOf(addr)
	if h == nil {
		return nm, false
	}
	m := v.memory()
	block, ok := h.block(m, addr)
	header, head := block+l.sizes["HeapBlock"], v.head[:l.headerBytes]
	if !ok || !m.bytes(header, head) {
		return nm, false
	}
	nm = nmethod{
		header: header, begin: b.begin, end: b.end, complete: uint64(max(b.completeAt, 0)),
		method: l.in(head, "nmethod::_method"), id: uint32(l.in(head, "nmethod::_compile_id")),
		compLevel: uint8(l.in(head, "nmethod::_comp_level")), origPC: l.in(head, "nmethod::_orig_pc_offset"),
	}
	nm.native = v.kindNamed(l.in(head, "CodeBlob::_name")) == kindNative
	c.setDeoptHandlers(&nm, head)
	c.setSpans(&nm, head)
	return nm, nm.method != 0 && m.err == nil
}

func (c *compiledCode) setDeoptHandlers(nm *nmethod, head []byte) {
	for i := range c.vm.nameLayout.deopts {
		f := &c.vm.nameLayout.deopts[i]
		if nm.deoptHandlers[i] = f.in(head); f.size < 8 { // an offset
			nm.deoptHandlers[i] += nm.header
		}
	}
}

func (c *compiledCode) setSpans(nm *nmethod, head []byte) {
	l := c.vm.nameLayout
	pcs, s := l.in(head, "nmethod::_scopes_pcs_offset"), l.scopes
	switch l.scopesIn {
	case scopesApart:
		base, size, data := s[0].in(head), s[1].in(head), s[2].in(head)
		nm.pcs, nm.scopes = span{base + pcs, base + data}, span{base + data, base + size}
		if data < pcs {
			nm.pcs, nm.scopes = span{base + pcs, base + size}, span{base + data, base + pcs}
		}
	case scopesByAddress:
		nm.pcs = span{nm.header + pcs, nm.header + s[1].in(head)}
		nm.scopes = span{s[0].in(head), nm.pcs.low}
	default:
		nm.pcs = span{nm.header + pcs, nm.header + s[1].in(head)}
		nm.scopes = span{nm.header + s[0].in(head), nm.pcs.low}
	}
	switch meta := l.metadata; {
	case len(meta) > 1:
		base := meta[0].in(head)
		nm.metadata = span{base + (meta[2].in(head)+7)&^7, base + meta[1].in(head)}
	case l.scopesIn == scopesApart: // JDK 23 and 24
		data, size := l.in(head, "CodeBlob::_data_offset"), l.in(head, "CodeBlob::_size")
		nm.metadata = span{nm.header + data + meta[0].in(head), nm.header + size}
	default:
		nm.metadata = span{nm.header + meta[0].in(head), nm.scopes.low}
	}
}

// compiledOf returns the compiled method with code at pc, or nil if b is no longer its code. since is a time before the
// reading, in nanoseconds of CLOCK_MONOTONIC.
func (c *compiledCode) compiledOf(b *blob, pc uint64, since int64) *nmethod {
	current, ok := c.compiledAt(b, pc)
	if begin, _ := c.vm.layout.boundsOf(c.vm.head[:], current.header); !ok || begin != b.begin { // replaced
		delete(c.byStart, b.begin)
		return nil
	}
	current.since, current.checked = since, since
	if known := c.byStart[b.begin]; known != nil && known.same(&current) {
		known.checked = since
		return known
	}
	cache.Put(&c.byStart, maxMethods, b.begin, &current)
	return &current
}

func (nm *nmethod) same(other *nmethod) bool {
	a, b := *nm, *other
	a.since, a.checked, b.since, b.checked = 0, 0, 0, 0
	return a == b
}

// cookie identifies the compilation, never 0.
func (nm *nmethod) cookie() uint64 { return uint64(nm.id)<<32 | uint64(uint32(nm.method>>3)) | 1 }

// isUnchanged also records the time of the check.
func (c *compiledCode) isUnchanged(nm *nmethod) bool {
	since := c.vm.cached.begin(c.validity.copiedAt)
	defer c.vm.cached.bypass()
	l, m := c.vm.nameLayout, c.vm.memory()
	id, method := m.int32(nm.header+l.offset("nmethod::_compile_id")), m.word(nm.header+l.offset("nmethod::_method"))
	if m.err != nil || uint32(id) != nm.id || method != nm.method {
		return false
	}
	nm.checked = since
	return true
}

// compiledRef refers to a place in nm. Its Cookie is 0 if debugging information is unreadable.
func (c *compiledCode) compiledRef(nm *nmethod, pc uint64, afterCall bool) (r managed.Ref, read bool) {
	r = managed.Ref{Object: nm.begin, Kind: refCompiled, Cookie: nm.cookie()}
	off := pc - nm.begin
	if nm.native || off > maxCode || off < nm.complete {
		return r, true
	}
	before := int32(off)
	if afterCall {
		before-- // a return address has its own place
	}
	prev, next, ok := c.scopesAt(nm, before)
	switch {
	case !ok:
		r.Cookie = 0
	case afterCall && c.place == int32(off):
		r.Position = uint64(next)<<32 | uint64(next)
	default: // also of a call without a place, as of an assembly routine
		r.Position = uint64(next)<<32 | uint64(prev)
	}
	return r, ok
}

// deoptimizedRef refers to the original return address, which the frame holds (nmethod::orig_pc_addr); else it is r.
func (c *compiledCode) deoptimizedRef(f *frames.Frame, nm *nmethod, r managed.Ref) managed.Ref {
	pc, ok := c.validity.sample.Mem.Word(f.SP + nm.origPC)
	if !ok || f.SP == 0 || pc <= nm.begin || pc > nm.end {
		return r
	}
	r, _ = c.compiledRef(nm, pc, true)
	return r
}

const maxCode = 1 << 30 // bytes
