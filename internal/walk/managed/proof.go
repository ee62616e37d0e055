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
	if e, status, live = prove(o, v, addr, source); e != none {
		o.walked(e, v.Sample.At)
	}
	return e, status, live
}

func prove[ID comparable, E Identified[ID]](
	o *Objects[E], v *View, addr uint64, source ObjectSource[ID, E],
) (e E, status ObjectStatus, live bool) {
	if e, status, copied := proveByCopy(o, addr, source); copied {
		return e, status, false
	}
	known, proven := proveByCheck(o, v, addr, source)
	switch {
	case proven:
		return known, ObjectKnown, false
	case v.IsLive():
		e, status = proveLive(o, v, addr, source)
		return e, status, true
	}
	var none E
	if known == none || isKnownBefore(known, v) {
		o.Drop(addr) // the next stop copies it
	}
	return none, ObjectFreed, false
}

// proveByCopy is proof 1. copied: the copy decides.
func proveByCopy[ID comparable, E Identified[ID]](
	o *Objects[E], addr uint64, source ObjectSource[ID, E],
) (e E, status ObjectStatus, copied bool) {
	id, status := source.Identify(addr, false)
	switch status {
	case NotObject:
		return e, NotObject, true
	case ObjectFreed:
		return e, ObjectFreed, false
	}
	if known := o.At(addr); known != e && known.Identity() == id {
		return known, ObjectKnown, true
	}
	e, status = source.Read(addr, &id)
	return e, status, true
}

// proveByCheck is proof 2. It returns the known object, proven or not.
func proveByCheck[ID comparable, E Identified[ID]](
	o *Objects[E], v *View, addr uint64, source ObjectSource[ID, E],
) (known E, proven bool) {
	known = o.At(addr)
	switch {
	case !isKnownBefore(known, v):
		return known, false
	case known.Entry().LastChecked >= v.Sample.At: // by another walk
		return known, true
	}
	id, status := source.Identify(addr, true)
	return known, status == ObjectKnown && isUnchanged(known, id, v)
}

// proveLive is proof 3. Precondition: the thread has not run.
func proveLive[ID comparable, E Identified[ID]](
	o *Objects[E], v *View, addr uint64, source ObjectSource[ID, E],
) (e E, status ObjectStatus) {
	id, status := source.Identify(addr, true)
	v.UsedLive = true
	if status != ObjectKnown {
		return e, status
	}
	if known := o.At(addr); known != e && isUnchanged(known, id, v) {
		return known, ObjectKnown
	}
	return source.Read(addr, nil)
}

// isKnownBefore reports whether an object, which may be the zero value, was read before the sample of v.
func isKnownBefore[E Cached](known E, v *View) bool {
	var none E
	return known != none && v.Sample.At != 0 && known.Entry().FirstRead <= v.Sample.At
}

// isUnchanged reports whether an object still has its identity, and notes the time of the check.
func isUnchanged[ID comparable, E Identified[ID]](known E, id ID, v *View) bool {
	if known.Identity() != id {
		return false
	}
	known.Entry().LastChecked = max(known.Entry().LastChecked, v.Begun)
	return true
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
	p.Row.CFAExpr = p
	p.Row.RA = frames.RegRule{Kind: frames.RuleOffset, Off: -8}
	p.save(saved)
	return p
}

// save adds saved registers.
func (r *VerifiedRule) save(saved map[uint8]int64) {
	for reg, below := range saved {
		r.Row.Regs[reg] = frames.RegRule{Kind: frames.RuleOffset, Off: -below}
	}
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
