// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"prywalk/frames"
	"prywalk/internal/managed"
)

// Names implements [managed.FrameSource] for Java frames, for the walking goroutine.
type Names struct {
	*validity
	*methodNames
	*compiledCode
	threads threads
	waiters waiters

	err          error
	deoptimizing bool // one was walked
	sites        map[site]*codeInfo
	eviction     managed.IdleEviction
	callStub     uint64 // return address in the call stub
}

// Names returns the part that names methods.
func (v *VM) Names() *Names {
	if v.names == nil {
		m := &validity{vm: v}
		n := &Names{
			validity: m, sites: map[site]*codeInfo{},
			methodNames:  &methodNames{validity: m, methods: map[uint64]*method{}},
			compiledCode: &compiledCode{validity: m, code: map[uint64]*nmethod{}},
		}
		v.names = n
	}
	return v.names
}

var errNoNames = errors.New("the Java virtual machine's tables do not have")

// Incomplete gives why there are no names, or nil.
func (n *Names) Incomplete() error { return n.err }

// ready reports whether the layout is known; it is read when pc is in the machine's code.
func (n *Names) ready(pc uint64) bool {
	if n.layout != nil || n.err != nil {
		return n.layout != nil
	}
	if lacks := n.vm.layout.missingNameField(); lacks != "" {
		n.err = fmt.Errorf("%w %s; Java frames have no names", errNoNames, lacks)
		return false
	}
	if n.vm.heapOf(pc) == nil {
		return false
	}
	var ok bool
	if n.layout, ok = n.vm.readNameLayout(); !ok {
		n.layout, n.err = nil, fmt.Errorf("%w a release or offsets that are known; Java frames have no names", errNoNames)
	}
	return ok
}

func (n *Names) readFirstMoment(pc uint64) {
	if n.latest.at == 0 && n.ready(pc) {
		n.latest = n.classMemoryNow()
	}
}

const (
	refCompiled uint8 = iota + 1
	refInterpreted
	refStub
)

// Begin implements [managed.FrameSource].
func (n *Names) Begin(s *managed.Sample) {
	n.sample, n.deoptimizing = s, false
	n.evictIdle(s.At)
	n.beginWalk(s)
}

// Forget drops all cached names.
func (n *Names) Forget() {
	n.forgetMethods()
	clear(n.code)
	clear(n.sites)
}

// forgetStubs drops the addresses without a compiled method. A method can replace a freed stub, but [Names.infoAt]
// checks compiled methods only.
func (n *Names) forgetStubs() {
	maps.DeleteFunc(n.sites, func(_ site, info *codeInfo) bool { return info.code == nil })
}

func (n *Names) evictIdle(at int64) {
	before, due := n.eviction.Due(at)
	if !due {
		return
	}
	for addr, m := range n.methods {
		if m.checked < before {
			n.drop(addr)
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
	for tid := range n.threads.proven {
		if _, lives := n.threads.byTID[tid]; !lives {
			delete(n.threads.proven, tid)
		}
	}
}

// ManagedFrames implements [managed.FrameSource].
func (n *Names) ManagedFrames(f *frames.Frame, _ frames.Addr, out []managed.Ref) (refs []managed.Ref, instead bool) {
	if f.Module == nil || !f.Module.Generated || !n.ready(f.PC) {
		return out, false
	}
	p := n.infoAt(f)
	if p == nil {
		return out, false
	}
	ref := p.ref
	n.deoptimizing = n.deoptimizing || p.deoptimizes
	switch {
	case p.code != nil && p.code.since >= n.at && n.doubted(): // possibly replaced since the copy
		ref = managed.Ref{Object: ref.Object, Kind: refCompiled}
	case p.continuesDeopt && n.deoptimizing:
	case p.code != nil && f.Caller && (f.PC == p.code.deoptHandlers[0] || f.PC == p.code.deoptHandlers[1]):
		ref = n.deoptimizedRef(f, p.code, ref)
	case p.interp != notInterpreted:
		if r, ok := n.interpretedRef(f, p.interp); ok {
			ref = r
		}
	}
	return append(out, ref), true
}

type site struct {
	pc     uint64
	caller bool
}

type codeInfo struct {
	ref                         managed.Ref
	code                        *nmethod // nil in stubs and in the interpreter
	interp                      interpreterState
	deoptimizes, continuesDeopt bool
	// unread: debugging information was unreadable, as it may be newer than the mappings.
	unread bool
}

type interpreterState uint8

const (
	notInterpreted           interpreterState = iota
	interpretedFrameComplete                  // by rbp
	interpretedEntry                          // a register may have the method
)

const maxSites = 1 << 16

// infoAt describes a frame's address, or gives nil; compiled code read before the copy is checked.
func (n *Names) infoAt(f *frames.Frame) *codeInfo {
	key := site{f.PC, f.Caller}
	p := n.sites[key]
	if p != nil && (p.code == nil || p.code.checked >= n.at || n.isUnchanged(p.code)) {
		return p
	}
	delete(n.sites, key)
	is, ok := n.readInfo(f.PC, f.Caller)
	if !ok {
		return nil
	}
	if !is.unread {
		if len(n.sites) >= maxSites {
			clear(n.sites)
		}
		n.sites[key] = &is
	}
	return &is
}

func (n *Names) readInfo(pc uint64, caller bool) (p codeInfo, ok bool) {
	n.vm.cached.enable(n.at)
	defer n.vm.cached.disable()
	b, ok := n.vm.find(pc)
	if !ok && caller {
		b, ok = n.vm.find(pc - 1)
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
		if !caller && n.vm.inCallStub(&b, pc) {
			ref := managed.Ref{Object: c.begin, Position: atStaticCallStub, Cookie: c.cookie(), Kind: refStub}
			return codeInfo{ref: ref, code: c}, true
		}
		ref, read := n.compiledRef(c, pc, caller)
		return codeInfo{ref: ref, code: c, unread: !read}, true
	}
	p.ref = managed.Ref{Object: b.begin, Position: n.routine(pc, caller), Kind: refStub}
	if b.kind != kindStubRoutines {
		name := n.vm.blobName(b.begin)
		p.deoptimizes = strings.Contains(name, "Deoptimization") || strings.Contains(name, "UncommonTrap")
	}
	return p, true
}

// Positions of a refStub; a codelet's is its address.
const (
	atBlob = iota
	atCallStub
	atStaticCallStub // static call stub after a method
	atCodelet        // or above
)

func (n *Names) routine(pc uint64, caller bool) uint64 {
	if !caller {
		return atBlob
	}
	if n.callStub == 0 {
		n.callStub = n.vm.memory().word(n.layout.at.StubRoutines.CallStub.address)
	}
	if n.callStub == pc {
		return atCallStub
	}
	return atBlob
}
