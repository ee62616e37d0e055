package hotspot

import (
	"strings"

	"prywalk/internal/managed"
)

// site is an address that frames are at.
type site struct {
	pc     uint64
	caller bool
}

// codeInfo is what such an address stands for.
type codeInfo struct {
	ref    managed.Ref
	code   *compiled // nil in stubs
	interp interp
	// replaces: the machine puts interpreted frames in the place of a compiled one. replaced: such a frame, if that is
	// going on.
	replaces, replaced bool
}

// interp tells how the interpreter's frame looks there.
type interp uint8

const (
	interpNone  interp = iota
	interpWhole        // by rbp
	interpEnter        // it is being made: rbx may have the method
)

// maxSites bounds what is remembered.
const maxSites = 1 << 16

// recentSite is a place that was asked for lately: looking there first is a third of a map's cost.
type recentSite struct {
	site
	is *codeInfo
}

// nearBits says how many of those there are.
const nearBits = 10

// infoAt gives what is at an address, nil if it is not known. What is remembered of compiled code is compared with the
// process's memory if it was read before the copy.
func (n *Names) infoAt(pc uint64, caller bool) *codeInfo {
	near := &n.near[pc*0x9e3779b97f4a7c15>>(64-nearBits)] // Fibonacci hashing
	key := site{pc, caller}
	p := near.is
	if p == nil || near.site != key {
		p = n.sites[key]
	}
	if p == nil || p.code != nil && p.code.checked < n.at && !n.same(p.code) {
		is, ok := n.readInfo(pc, caller)
		if !ok {
			delete(n.sites, key)
			near.is = nil
			return nil
		}
		if len(n.sites) >= maxSites {
			clear(n.sites)
		}
		p = &is
		n.sites[key] = p
	}
	*near = recentSite{key, p}
	return p
}

// readInfo finds out what is at an address.
func (n *Names) readInfo(pc uint64, caller bool) (p codeInfo, ok bool) {
	b, ok := n.v.find(pc)
	if !ok && caller {
		b, ok = n.v.find(pc - 1)
	}
	if !ok {
		return p, false
	}
	switch {
	case b.kind == kindInterpreter:
		return n.inInterpreter(&b, pc, caller), true
	case b.kind == kindMethod && !b.stub:
		c := n.compiledOf(&b, b.begin)
		if c == nil {
			return p, false
		}
		return codeInfo{ref: n.compiledRef(c, pc, caller), code: c}, true
	}
	name := n.v.Describe(b.begin)
	return codeInfo{
		ref:      managed.Ref{Object: b.begin, Position: n.routine(pc, caller), Kind: refStub},
		replaces: strings.Contains(name, "Deoptimization") || strings.Contains(name, "UncommonTrap"),
	}, true
}

// routine is 1 where the machine calls Java, else 0.
func (n *Names) routine(pc uint64, caller bool) uint64 {
	if caller && n.v.memory().word(n.l.static("StubRoutines::_call_stub_return_address")) == pc {
		return 1
	}
	return 0
}
