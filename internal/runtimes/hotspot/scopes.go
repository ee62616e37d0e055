// SPDX-License-Identifier: Apache-2.0

package hotspot

import "encoding/binary"

// # Places and scopes of a compiled method
//
//	PcDesc   │ offset in the code │ offset of the scope │ …   sorted; the first and the last are guards
//	scope    │ offset of the caller's scope; 0: none │ index of the method, from 1 │ bytecode index + 1 │ …
//	methods  │ Method │ Method │ …
//
// A scope's numbers are of unsigned5.go. They are behind the code up to JDK 22, since 23 in _immutable_data, and the
// methods since 25 in _mutable_data (code/nmethod.hpp).

const (
	maxScopes = 16 << 20
	maxPcs    = 16 << 20
	window    = 4096
)

// scopesAt gives the scopes of the places around an offset in the code, as offsets in the scopes' data: next is after
// it, prev at or before; 0: none. Instructions between belong to the methods common to both.
func (n *compiledCode) scopesAt(c *nmethod, off int32) (prev, next uint32, ok bool) {
	n.place = -1
	d := &n.layout.at.PcDesc
	size := d.Bytes
	if size < max(d.PCOffset.offset, d.Scope.offset)+4 || c.pcs.size() > maxPcs || c.pcs.size()%size != 0 {
		return 0, 0, false
	}
	// The first and the last are guards, at −1 and the end.
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

// call is a method at a bytecode index; −1: before the first.
type call struct {
	method uint64
	bci    int32
}

const maxInlined = 256

// invocation is InvocationEntryBci, the base of bytecode indices.
const invocation = -1

// appendScopeMethods appends the methods of a scope, innermost first (ScopeDesc::decode_body). The outermost must be
// the compiled method.
func (n *compiledCode) appendScopeMethods(c *nmethod, scope uint32, out []call) ([]call, bool) {
	if c.scopes.size() > maxScopes || c.metadata.size() > maxScopes {
		return out, false
	}
	for range maxInlined {
		s := unsigned5Reader{b: n.scopeBytes(c, scope), excluded: n.layout.excludedBytes}
		sender, index, bci := s.number(), s.number(), int32(s.number())+invocation
		if s.failed || index == 0 || 8*uint64(index) > c.metadata.size() {
			return out, false
		}
		m := n.vm.memory()
		method := m.word(c.metadata.low + 8*uint64(index-1))
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
func (n *compiledCode) scopeBytes(c *nmethod, scope uint32) []byte {
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

// callsAt sets n.calls to the methods common to the scopes around a position, at least the compiled one.
func (n *compiledCode) callsAt(c *nmethod, position uint64) {
	next, prev := uint32(position>>32), uint32(position)
	var ok bool
	if n.calls, ok = n.appendScopeMethods(c, next, n.calls[:0]); !ok {
		n.calls = append(n.calls[:0], call{c.method, invocation})
		return
	}
	if prev == next {
		return
	}
	common := 1
	if n.others, ok = n.appendScopeMethods(c, prev, n.others[:0]); ok {
		common = commonCalls(n.calls, n.others)
	}
	n.calls = n.calls[len(n.calls)-common:]
}

func commonCalls(a, b []call) int {
	i := 1
	for i < min(len(a), len(b)) && a[len(a)-i] == b[len(b)-i] && a[len(a)-i-1].method == b[len(b)-i-1].method {
		i++
	}
	return i
}
