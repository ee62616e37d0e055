// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"errors"
	"fmt"
	"strings"

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
	unread  bool  // a part of the debugging information could not be read
	resting managed.Rest
	// callStub is where the stub goes on by which the machine calls Java.
	callStub uint64
	threads  threads
	waiters  waiters

	foreseen foreseeing

	scope       [16]byte
	buf         [window]byte
	symbol      [64 + maxSymbol]byte
	spelled     []byte            // names of a method and of its class
	full        []byte            // the two as people write them
	table       []byte            // of lines
	files       map[string]string // names of files, each once
	cookie      []byte            // what tells a method from others
	constMethod [maxConst + 8]byte
	pool        [maxPool + 8]byte
	tags        [512]byte // of a pool's first constants
}

// Names gives what names the frames of the machine's code.
func (v *VM) Names() *Names {
	if v.names == nil {
		v.names = &Names{v: v, methods: map[uint64]*method{}, code: map[uint64]*compiled{}, sites: map[site]*codeInfo{},
			files: map[string]string{}}
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
	n.rest(s.At)
	n.forgetForeseen()
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
	clear(n.foreseen.told)
}

// rest drops what no copy has met for long. at is when the copy of this walk was made.
func (n *Names) rest(at int64) {
	before, due := n.resting.Due(at)
	if !due {
		return
	}
	for addr, m := range n.methods {
		if m.checked < before {
			delete(n.methods, addr)
		}
	}
	for begin, c := range n.code {
		if c.checked < before {
			delete(n.code, begin)
		}
	}
	for at, is := range n.sites {
		if is.code != nil && is.code.checked < before {
			delete(n.sites, at)
		}
	}
	for ref := range n.foreseen.told {
		if n.code[ref.Object] == nil && n.methods[ref.Object] == nil {
			delete(n.foreseen.told, ref)
		}
	}
	clear(n.files) // methods hold those that they have
	for tid := range n.threads.proven {
		if _, lives := n.threads.byTID[tid]; !lives {
			delete(n.threads.proven, tid)
		}
	}
}

// Native implements [managed.Namer].
func (n *Names) Native(f *frames.Frame, _ frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	if f.Module == nil || !f.Module.Generated || !n.ready(f.PC) {
		return out, false
	}
	p := n.infoAt(f)
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
	if ref.Kind == refCompiled && len(n.foreseen.refs) < mostRefs {
		n.foreseen.refs = append(n.foreseen.refs, ref)
	}
	return append(out, ref), true
}

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
	// unread: its debugging information could not be read. It may lie in memory that is newer than the list of mappings.
	unread bool
}

// interp tells how the interpreter's frame looks there.
type interp uint8

const (
	interpNone  interp = iota
	interpWhole        // by rbp
	interpEnter        // it is being made: a register may have the method
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
func (n *Names) infoAt(f *frames.Frame) *codeInfo {
	pc, caller := f.PC, f.Caller
	near := &n.near[pc*0x9e3779b97f4a7c15>>(64-nearBits)] // Fibonacci hashing
	key := site{pc, caller}
	p := near.is
	if p == nil || near.site != key {
		p = n.sites[key]
	}
	if p == nil || p.code != nil && p.code.checked < n.at {
		n.foreseeCode(f)
	}
	if p == nil || p.code != nil && p.code.checked < n.at && !n.same(p.code) {
		is, ok := n.readInfo(pc, caller)
		if !ok {
			delete(n.sites, key)
			near.is = nil
			return nil
		}
		if is.unread {
			delete(n.sites, key)
			near.is = nil
			return &is
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
	n.v.near.use(n.at) // most of it was foreseen
	defer n.v.near.done()
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
		c := n.compiledOf(&b, min(pc, b.end-1))
		if c == nil {
			return p, false
		}
		if !caller && n.v.isOnward(&b, pc) { // what it calls has begun, and it is no frame of its own
			return codeInfo{ref: managed.Ref{Object: c.begin, Position: atOnward, Cookie: c.cookie(), Kind: refStub}, code: c},
				true
		}
		ref, read := n.compiledRef(c, pc, caller)
		return codeInfo{ref: ref, code: c, unread: !read}, true
	}
	p.ref = managed.Ref{Object: b.begin, Position: n.routine(pc, caller), Kind: refStub}
	if b.kind != kindRoutines { // these only have others' names
		name := n.v.Describe(b.begin)
		p.replaces = strings.Contains(name, "Deoptimization") || strings.Contains(name, "UncommonTrap")
	}
	return p, true
}

// Positions of stubs; the interpreter's pieces have that of their code.
const (
	atBlob     = iota // named by the blob
	atCallStub        // where the machine calls Java
	atOnward          // behind a method, where its call goes on to the interpreter
	atCodelet         // this, or more
)

// routine gives the position of a stub.
func (n *Names) routine(pc uint64, caller bool) uint64 {
	if !caller {
		return atBlob
	}
	if n.callStub == 0 { // it is written once
		n.callStub = n.v.memory().word(n.l.static("StubRoutines::_call_stub_return_address"))
	}
	if n.callStub == pc {
		return atCallStub
	}
	return atBlob
}
