package hotspot

import (
	"errors"
	"fmt"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Names gives Java frames their names, as a [managed.Namer] does. It is for the goroutine that walks.
type Names struct {
	v       *VM
	l       *nameLayout
	err     error // why there are no names
	sample  *managed.Sample
	replace bool // this walk has met a frame that replaces others
	moments
	methods map[uint64]*method
	code    map[uint64]*compiled // by their code's start
	sites   map[site]*codeInfo
	near    [1 << nearBits]recentSite
	calls   []call
	others  []call
	place   int32 // where the next scope was found
	threads threads
	waiters waiters

	scope       [16]byte
	buf         [window]byte
	symbol      [64 + maxSymbol]byte
	constMethod [maxConst + 8]byte
	pool        [maxPool + 8]byte
	tags        [512]byte // of a pool's first constants
}

// Names gives what names the frames of the machine's code.
func (v *VM) Names() *Names {
	if v.names == nil {
		v.names = &Names{v: v, methods: map[uint64]*method{}, code: map[uint64]*compiled{}, sites: map[site]*codeInfo{}}
	}
	return v.names
}

// errNoNames is what the tables lack.
var errNoNames = errors.New("the Java virtual machine's tables do not have")

// Unknown gives why there are no names, nil if there are or may yet be.
func (n *Names) Unknown() error { return n.err }

// ready reports whether the layout is known, and looks for it in a walk that meets code of the machine.
func (n *Names) ready(pc uint64) bool {
	if n.l != nil || n.err != nil {
		return n.l != nil
	}
	if lacks := n.v.layout.lacksNames(); lacks != "" {
		n.err = fmt.Errorf("%w %s; Java frames have no names", errNoNames, lacks)
		return false
	}
	if n.v.heapOf(pc) == nil { // or the tables are not proven yet
		return false
	}
	var ok bool
	if n.l, ok = n.v.readNameLayout(); !ok {
		n.l, n.err = nil, fmt.Errorf("%w a release or offsets that are known; Java frames have no names", errNoNames)
	}
	return ok
}

// begun tells of code of the machine, before any walk: what is met in the first ones is compared with that moment.
func (n *Names) begun(pc uint64) {
	if n.after.at == 0 && n.ready(pc) {
		n.after = n.moment()
	}
}

// kinds of frames.
const (
	refCompiled uint8 = iota + 1
	refInterpreted
	refStub
)

// Begin implements [managed.Namer].
func (n *Names) Begin(s *managed.Sample) {
	n.sample, n.replace = s, false
	n.walk(s)
}

// End implements [managed.Namer]: each managed frame is a native one.
func (n *Names) End() managed.Health { return managed.Matched }

// Forget drops what is remembered.
func (n *Names) Forget() {
	clear(n.methods)
	clear(n.code)
	clear(n.sites)
	clear(n.near[:])
}

// Native implements [managed.Namer].
func (n *Names) Native(f *frames.Frame, _ frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	if f.Module == nil || !f.Module.Generated || !n.ready(f.PC) {
		return out, false
	}
	p := n.infoAt(f.PC, f.Caller)
	if p == nil {
		return out, false
	}
	ref := p.ref
	n.replace = n.replace || p.replaces
	switch {
	case p.code != nil && p.code.since >= n.at && n.doubted(): // what was there may have been another
		ref = managed.Ref{Object: ref.Object, Kind: refCompiled}
	case p.replaced && n.replace: // it is there, and not yet filled in
	case p.code != nil && f.Caller && (f.PC == p.code.deopts[0] || f.PC == p.code.deopts[1]):
		ref = n.deoptimized(f, p.code, ref)
	case p.interp != interpNone:
		if r, ok := n.interpreted(f, p.interp); ok {
			ref = r
		}
	}
	return append(out, ref), true
}
