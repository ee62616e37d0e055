package hotspot

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// compiledOf gives a compiled method, read anew.
func (n *Names) compiledOf(b *blob, pc uint64) *compiled {
	at := n.v.near.use(n.at)
	defer n.v.near.done()
	now, ok := n.compiledAt(b, pc)
	if !ok {
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
	at, l := n.v.near.use(n.at), n.l
	defer n.v.near.done()
	idAt, methodAt := c.at+l.off("nmethod::_compile_id"), c.at+l.off(l.method)
	n.v.near.fetch(extent{idAt, 4}, extent{methodAt, 8})
	m := n.v.memory()
	id, method := m.int32(idAt), m.word(methodAt)
	if m.failed || uint32(id) != c.id || method != c.method {
		return false
	}
	c.checked = at
	return true
}

// compiledRef gives the identity of a place in a compiled method.
func (n *Names) compiledRef(c *compiled, pc uint64, caller bool) managed.Ref {
	r := managed.Ref{Object: c.begin, Kind: refCompiled, Cookie: c.cookie()}
	off := pc - c.begin
	switch {
	case c.native || off > maxCode:
	case caller:
		scope := uint64(n.scopeAt(c, int32(off)))
		r.Position = scope<<32 | scope
	case off >= c.complete:
		if prev, next, ok := n.scopesAt(c, int32(off)); ok {
			r.Position = uint64(next)<<32 | uint64(prev)
		}
	}
	return r
}

// deoptimized gives the place of a frame that is to be replaced by interpreted ones: its return address stands for
// another one, which the frame has kept (nmethod::orig_pc_addr).
func (n *Names) deoptimized(f *frames.Frame, c *compiled, r managed.Ref) managed.Ref {
	pc, ok := n.sample.Mem.Word(f.SP + c.orig)
	if !ok || f.SP == 0 || pc <= c.begin || pc > c.end {
		return r
	}
	return n.compiledRef(c, pc, true)
}

// maxCode is more than any method's code has, in bytes.
const maxCode = 1 << 30
