// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// ObjectStatus is what is at an address.
type ObjectStatus uint8

// Values of ObjectStatus.
const (
	ObjectFreed ObjectStatus = iota // or unreadable
	ObjectKnown
	NotObject // something else
)

// StatusOf is ObjectKnown for a readable object, else ObjectFreed.
func StatusOf(readable bool) ObjectStatus {
	if readable {
		return ObjectKnown
	}
	return ObjectFreed
}

// Identified distinguishes an object from a later one at its address.
type Identified[ID comparable] interface {
	Cached
	Identity() ID
}

// ObjectSource reads one object.
type ObjectSource[ID comparable, E Identified[ID]] interface {
	// Identify returns the identity of the object as copied, or (now) as in the View's Pages.
	Identify(addr uint64, now bool) (ID, ObjectStatus)
	// Read reads and caches the present object; want is its identity, or nil.
	Read(addr uint64, want *ID) (E, ObjectStatus)
}

// Prove returns the object that was provably at an address at the sample of v. The first of these proofs counts:
//
//  1. The identity was copied in the stop and is unchanged.
//  2. It was known before the stop and is unchanged after it.
//  3. The thread has not run since the stop (live), and must not until the end of the walk.
func Prove[ID comparable, E Identified[ID]](
	o *Objects[E], v *View, addr uint64, source ObjectSource[ID, E],
) (e E, status ObjectStatus, live bool) {
	var none E
	p := proof[ID, E]{o, v, source, addr, o.At(addr)}
	if e, status, live = p.prove(); e != none {
		o.walked(e, v.Sample.At)
	}
	return e, status, live
}

type proof[ID comparable, E Identified[ID]] struct {
	objects *Objects[E]
	view    *View
	source  ObjectSource[ID, E]
	addr    uint64
	known   E // or the zero value
}

func (p *proof[ID, E]) prove() (e E, status ObjectStatus, live bool) {
	switch id, status := p.source.Identify(p.addr, false); status { // 1
	case NotObject:
		return e, NotObject, false
	case ObjectKnown:
		if p.known != e && p.known.Identity() == id {
			return p.known, ObjectKnown, false
		}
		e, status = p.source.Read(p.addr, &id)
		return e, status, false
	}
	before := p.known != e && p.view.Sample.At != 0 && p.known.Entry().FirstRead <= p.view.Sample.At
	switch {
	case before && p.isUnchanged(): // 2
		return p.known, ObjectKnown, false
	case p.view.IsLive(): // 3
		e, status = p.readLive()
		return e, status, true
	case p.known == e, before:
		p.objects.Drop(p.addr) // the next stop copies it
	}
	return e, ObjectFreed, false
}

// isUnchanged reports whether the known object has its identity after the sample.
func (p *proof[ID, E]) isUnchanged() bool {
	if p.known.Entry().LastChecked >= p.view.Sample.At { // by another walk
		return true
	}
	id, status := p.source.Identify(p.addr, true)
	return status == ObjectKnown && p.hasNow(id)
}

// hasNow reports whether the known object has an identity that was read now, and records the time of the check.
func (p *proof[ID, E]) hasNow(id ID) bool {
	if p.known.Identity() != id {
		return false
	}
	p.known.Entry().LastChecked = max(p.known.Entry().LastChecked, p.view.Begun)
	return true
}

// readLive reads the object. Precondition: the thread has not run.
func (p *proof[ID, E]) readLive() (e E, status ObjectStatus) {
	id, status := p.source.Identify(p.addr, true)
	p.view.UsedLive = true
	switch {
	case status != ObjectKnown:
		return e, status
	case p.known != e && p.hasNow(id):
		return p.known, ObjectKnown
	}
	return p.source.Read(p.addr, nil)
}

// FindFrame returns the verified CFA of the frame at pc. unread is the address of an unreadable word, or 0.
type FindFrame func(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool)

// VerifiedRule is the rule of frames that are searched and verified. The return address is at CFA−8.
type VerifiedRule struct {
	Row  frames.Row
	find FindFrame
}

var _ frames.CFAFinder = (*VerifiedRule)(nil)

// NewVerifiedRule makes the rule. saved has distances below the CFA, bytes.
func NewVerifiedRule(find FindFrame, saved map[uint8]int64) *VerifiedRule {
	p := &VerifiedRule{find: find}
	p.Row.CFAExpr, p.Row.RA = p, frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	for reg, below := range saved {
		p.Row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -below}
	}
	return p
}

// Rule implements [frames.RuleSource].
func (r *VerifiedRule) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{Method: frames.MethodHeuristic}, &r.Row, true
}

// Eval implements [frames.Expr].
func (r *VerifiedRule) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	cfa, _, ok := r.find(regs, mem, regs.PC)
	return cfa, ok
}

// FindCFA implements [frames.CFAFinder].
func (r *VerifiedRule) FindCFA(regs *frames.Regs, mem frames.Memory, pc uint64) (cfa, unread uint64, ok bool) {
	return r.find(regs, mem, pc)
}
