// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"sort"
)

// # Places and scopes of a compiled method
//
//	PcDesc   │ offset in the code │ offset of the scope │ …   sorted; the first and the last are guards
//	scope    │ offset of the caller's scope; 0: none │ index of the method, from 1 │ bytecode index + 1 │ …
//	methods  │ Method │ Method │ …
//
// Numbers are as in linetable.go. Scopes are after the code up to JDK 22, since 23 in _immutable_data; methods since
// 25 in _mutable_data (code/nmethod.hpp).

const (
	maxScopes = 16 << 20 // bytes
	maxPcs    = 16 << 20 // bytes
)

// scopesAt returns next, the scope of the place after an offset, and prev, that of the place at or before, as offsets
// in the scopes' data, 0 for none. Instructions between belong to the methods common to both.
func (c *compiledCode) scopesAt(nm *nmethod, off int32) (prev, next uint32, ok bool) {
	c.place = -1
	l := c.vm.layout
	size, pcAt, scopeAt := l.sizes["PcDesc"], l.offset("PcDesc::_pc_offset"), l.offset("PcDesc::_scope_decode_offset")
	if size < max(pcAt, scopeAt)+4 || nm.pcs.size() > maxPcs || nm.pcs.size()%size != 0 {
		return 0, 0, false
	}
	m := c.vm.memory()
	entry := func(i uint64) (pcOffset int32, scope uint32) {
		b := c.pcDesc[:size]
		m.bytes(nm.pcs.low+i*size, b)
		return int32At(b[pcAt:]), binary.LittleEndian.Uint32(b[scopeAt:])
	}
	// The first and last entries are guards, at −1 and the end of the code.
	count := nm.pcs.size() / size
	after := uint64(sort.Search(int(count), func(i int) bool {
		pcOffset, _ := entry(uint64(i))
		return pcOffset > off
	}))
	if after > 0 {
		if pcOffset, scope := entry(after - 1); pcOffset >= 0 {
			prev = scope
		}
	}
	if after < count {
		if pcOffset, scope := entry(after); uint64(pcOffset) <= nm.end-nm.begin {
			next, c.place = scope, pcOffset
		}
	}
	return prev, next, m.err == nil
}

// call is a method at a bytecode index; −1 is before the first.
type call struct {
	method uint64
	bci    int32
}

const maxInlined = 256

// invocation is InvocationEntryBci, the base of bytecode indices.
const invocation = -1

// appendScopeMethods appends a scope's methods, innermost first (ScopeDesc::decode_body). The outermost must be the
// compiled method.
func (c *compiledCode) appendScopeMethods(nm *nmethod, scope uint32, out []call) ([]call, bool) {
	if nm.scopes.size() > maxScopes || nm.metadata.size() > maxScopes {
		return out, false
	}
	for range maxInlined {
		s := unsigned5Reader{b: c.scopeBytes(nm, scope), excluded: c.vm.nameLayout.excludedCodes}
		sender, index, bci := s.number(), s.number(), int32(s.number())+invocation
		if s.failed || index == 0 || 8*uint64(index) > nm.metadata.size() {
			return out, false
		}
		m := c.vm.memory()
		method := m.word(nm.metadata.low + 8*uint64(index-1))
		if m.err != nil {
			c.unread = true
			return out, false
		}
		out = append(out, call{method, bci})
		if sender == 0 {
			return out, method == nm.method
		}
		if sender >= scope { // senders precede their callees
			return out, false
		}
		scope = sender
	}
	return out, false
}

// scopeBytes returns the bytes of a scope, valid until the next call.
func (c *compiledCode) scopeBytes(nm *nmethod, scope uint32) []byte {
	left := nm.scopes.size() - min(uint64(scope), nm.scopes.size())
	b := c.scope[:min(left, uint64(len(c.scope)))]
	if scope == 0 {
		return nil
	}
	if !c.vm.memory().bytes(nm.scopes.low+uint64(scope), b) {
		c.unread = true
		return nil
	}
	return b
}

// callsAt sets c.calls to the methods common to the scopes around a position, or c.unread.
func (c *compiledCode) callsAt(nm *nmethod, position uint64) {
	next, prev := uint32(position>>32), uint32(position)
	c.unread = false
	var ok bool
	if c.calls, ok = c.appendScopeMethods(nm, next, c.calls[:0]); !ok {
		c.calls = append(c.calls[:0], call{nm.method, invocation})
		return
	}
	if prev == next {
		return
	}
	common := 1
	if c.others, ok = c.appendScopeMethods(nm, prev, c.others[:0]); ok {
		common = commonCalls(c.calls, c.others)
	}
	c.calls = c.calls[len(c.calls)-common:]
}

// commonCalls counts the outermost calls of the same methods; all but the innermost have the same bytecode index.
func commonCalls(a, b []call) int {
	n := 1
	for n < min(len(a), len(b)) && a[len(a)-n] == b[len(b)-n] && a[len(a)-n-1].method == b[len(b)-n-1].method {
		n++
	}
	return n
}
