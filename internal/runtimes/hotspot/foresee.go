// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// # Foreseeing
//
// The frames of a walk are met one after the other, and each leads to its names by several steps. But the copy of the
// stack has all of them. So the first that needs memory has it read for the others, too, step by step: what the same
// step of all leads to is read in one call. Nothing is decided here. What is there is looked at by those who need it,
// in their own order; what is missing they read.

const (
	foreseenStack = 2 << 10 // bytes of the stack that are searched at a time
	mostForeseen  = 32      // addresses of code that are foreseen at a time
	mostMethods   = 48      // methods likewise
	mostRefs      = 256     // compiled frames of a walk that are remembered
	mostStep      = 1 << 16 // bytes between two interpreted frames
	roomForeseen  = 320     // units that they take at most, mostly
	wholeList     = 1 << 10 // bytes of a list of methods that are read before it is known which are needed
)

// foreseeing is what is kept for it.
type foreseeing struct {
	stack   uint64 // so far the stack has been searched in this walk
	chain   uint64 // and so far interpreted frames
	codes   [mostForeseen]uint64
	methods []aMethod
	refs    []managed.Ref // the compiled frames of the walk
	covered int           // of these
	told    map[managed.Ref]struct{}
	always  bool // who walks asks in each walk, as a dump does
	spare   []call
}

// aMethod is a method on the way to its names.
type aMethod struct {
	at    uint64
	known *method // nil: its names are read, too
	id    methodIdentity
}

// forgetForeseen begins a walk.
func (n *Names) forgetForeseen() {
	s := &n.foreseen
	s.stack, s.chain, s.refs, s.covered = 0, 0, s.refs[:0], 0
}

// foresees turns the reading on, with room for what is foreseen.
func (n *Names) foresees() *near {
	k := n.v.near
	if k.count > maxNear-roomForeseen {
		k.drop()
	}
	k.use(n.at)
	return k
}

// foreseeCode reads what the code of a frame leads to, and return addresses behind it on the stack: the headers of
// compiled methods, and the places in them. Of those that are known, only what tells whether they are still the same.
func (n *Names) foreseeCode(f *frames.Frame) {
	s := &n.foreseen
	if n.v.o.Gather == nil || f.SP < s.stack || f.SP == 0 {
		return
	}
	k := n.foresees()
	defer k.done()
	unknown := n.foreseeSite(s.codes[:0], site{f.PC, f.Caller})
	at := f.SP
	for ; at < f.SP+foreseenStack && len(unknown) < cap(unknown); at += 8 {
		pc, ok := n.word(at)
		if !ok {
			break
		}
		if n.v.inHeaps(pc) != nil {
			unknown = n.foreseeSite(unknown, site{pc, true})
		}
	}
	s.stack = at + 1
	k.get()
	for _, pc := range unknown {
		h := n.v.inHeaps(pc)
		if h == nil {
			continue
		}
		if at, ok := h.block(n.v.memory(), pc); ok {
			k.want(extent{at, n.l.at.blockBytes + n.l.entry})
		}
	}
	k.get()
	for _, pc := range unknown {
		if c, ok := n.compiledAt(&blob{}, pc); ok && c.known {
			k.want(extent{c.pcs.low, c.pcs.size()})
			k.want(extent{c.scopes.low, c.scopes.size()}) // a chain goes to and fro in it
			k.want(extent{c.metas.low, min(c.metas.size(), wholeList)})
		}
	}
	k.get()
}

// foreseeSite wants the first step for an address of code, and appends it if there are further ones.
func (n *Names) foreseeSite(unknown []uint64, at site) []uint64 {
	p := n.sites[at]
	switch {
	case p != nil && p.code != nil && p.code.checked < n.at:
		id, method := n.idOf(p.code)
		n.v.near.want(id)
		n.v.near.want(method)
	case p == nil && !slices.Contains(unknown, at.pc):
		if _, lasts := n.v.lasting(at.pc); lasts {
			break
		}
		if h := n.v.inHeaps(at.pc); h != nil {
			n.v.near.want(h.mapOf(at.pc))
			return append(unknown, at.pc)
		}
	}
	return unknown
}

// foreseeInterpreted reads what the interpreted frames from one on lead to, and the compiled ones of the walk so far.
// The frame pointers of interpreted frames are a chain, as long as each returns to the interpreter.
func (n *Names) foreseeInterpreted(fp uint64) {
	s := &n.foreseen
	if n.v.o.Gather == nil || fp < s.chain {
		return
	}
	s.methods = s.methods[:0]
	for len(s.methods) < mostMethods {
		at, ok := n.word(fp - n.v.interpretedFrame().method)
		next, ok2 := n.word(fp)
		pc, ok3 := n.word(fp + 8)
		s.chain = fp + 1
		if !ok || !ok2 || !ok3 {
			break
		}
		n.wantMethod(at)
		if b, ok := n.v.lasting(pc); !ok || b.kind != kindInterpreter || next <= fp || next-fp > mostStep {
			break
		}
		fp = next
	}
	n.foreseeCalls(s.covered)
	n.foreseeMethods()
}

// foreseeCompiled reads what a compiled frame of the walk leads to, and those behind it that nobody has asked for yet.
// Who keeps names asks for each once; who does not, as a dump, needs all of them in each walk.
func (n *Names) foreseeCompiled(r managed.Ref) {
	s := &n.foreseen
	if _, told := s.told[r]; told {
		s.always = true
	}
	first := slices.Index(s.refs[s.covered:], r)
	if n.v.o.Gather == nil || first < 0 {
		return
	}
	s.methods = s.methods[:0]
	n.foreseeCalls(s.covered + first)
	n.foreseeMethods()
}

// foreseeCalls reads which methods the compiled frames of the walk from one on stand for, and notes those.
func (n *Names) foreseeCalls(first int) {
	s := &n.foreseen
	end := min(first+mostForeseen, len(s.refs))
	k := n.foresees()
	defer k.done()
	for _, r := range s.refs[first:end] {
		if c := n.unnamed(r); c != nil {
			k.want(extent{c.scopes.low + r.Position>>32, uint64(len(n.scope))})
			k.want(extent{c.scopes.low + uint64(uint32(r.Position)), uint64(len(n.scope))})
			k.want(extent{c.metas.low, min(c.metas.size(), wholeList)})
		}
	}
	k.get()
	for s.covered = first; s.covered < end && len(s.methods) < mostMethods; s.covered++ {
		r := s.refs[s.covered]
		if c := n.unnamed(r); c != nil {
			s.spare, _ = n.chain(c, uint32(r.Position>>32), s.spare[:0])
			for _, at := range append(s.spare, call{method: c.method}) {
				n.wantMethod(at.method)
			}
		}
	}
}

// unnamed gives the code of a frame that nobody has asked for yet, nil if somebody has, or if it is not known.
func (n *Names) unnamed(r managed.Ref) *compiled {
	if _, told := n.foreseen.told[r]; told && !n.foreseen.always {
		return nil
	}
	if c := n.code[r.Object]; c != nil && c.cookie() == r.Cookie {
		return c
	}
	return nil
}

// told takes note of a frame that is asked for.
func (n *Names) told(r managed.Ref) {
	s := &n.foreseen
	if s.told == nil {
		s.told = map[managed.Ref]struct{}{}
	}
	if len(s.told) >= maxSites {
		clear(s.told)
	}
	s.told[r] = struct{}{}
}

// wantMethod notes a method, if it is to be read in this walk.
func (n *Names) wantMethod(at uint64) {
	s := &n.foreseen
	if known := n.methods[at]; at < nearUnit || at%8 != 0 || known != nil && known.checked >= n.at ||
		len(s.methods) == mostMethods {
		return
	}
	for i := range s.methods {
		if s.methods[i].at == at {
			return
		}
	}
	s.methods = append(s.methods, aMethod{at: at, known: n.methods[at]})
}

// foreseeMethods reads what the methods that were noted lead to, in the steps of identify and readMethod.
func (n *Names) foreseeMethods() {
	s, l := &n.foreseen, &n.l.at
	if len(s.methods) < 2 {
		return // it has nobody to share with
	}
	k := n.foresees()
	defer k.done()
	each := func(step func(m *aMethod)) {
		for i := range s.methods {
			step(&s.methods[i])
		}
		k.get()
	}
	each(func(m *aMethod) {
		if m.known != nil { // mostly, it is still the same
			n.wantKnown(m.known)
		}
		k.want(extent{m.at + l.constMethod.offset, 8})
	})
	each(func(m *aMethod) {
		m.id.constMethod = n.v.memory().word(m.at + l.constMethod.offset)
		k.want(extent{m.id.constMethod, l.constMethodBytes + 8})
	})
	each(func(m *aMethod) {
		cm := n.constMethod[:l.constMethodBytes+8]
		n.v.memory().bytes(m.id.constMethod, cm)
		n.pointsTo(&m.id, cm)
		k.want(extent{m.id.constants, l.poolBytes})
		k.want(extent{n.constantAt(&m.id, m.id.nameIndex), 8})
		if m.known == nil {
			from := l.constMethodBytes + l.codeSize.in(cm)
			if size := 8*l.constMethodSize.in(cm) - from; l.flags.in(cm)&hasLines != 0 {
				k.want(extent{m.id.constMethod + from, size})
			}
		}
	})
	each(func(m *aMethod) {
		n.v.memory().bytes(m.id.constants, n.pool[:l.poolBytes])
		m.id.holder = l.holder.in(n.pool[:])
		k.want(n.symbolAt(n.v.memory().word(n.constantAt(&m.id, m.id.nameIndex))))
		k.want(extent{m.id.holder + l.klassName.offset, 8})
		if m.known == nil {
			k.want(n.tagOf(m.id.nameIndex))
			k.want(n.sourceAt(&m.id))
		}
	})
	each(func(m *aMethod) {
		k.want(n.symbolAt(n.v.memory().word(m.id.holder + l.klassName.offset)))
		if m.known != nil {
			return
		}
		n.v.memory().bytes(m.id.constants, n.pool[:l.poolBytes])
		file := n.sourceIndex(&m.id)
		k.want(n.tagOf(file))
		k.want(extent{n.constantAt(&m.id, file), 8})
	})
	each(func(m *aMethod) {
		if m.known != nil {
			return
		}
		n.v.memory().bytes(m.id.constants, n.pool[:l.poolBytes])
		k.want(n.symbolAt(n.v.memory().word(n.constantAt(&m.id, n.sourceIndex(&m.id)))))
	})
}
