// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
)

// javaFrames answers for [Runtime] once the virtual machine is read.
type javaFrames struct {
	vm       *VM
	validity *validity
	methods  *methodNames
	compiled *compiledCode
	threads  threads
	waiters  waiters
	virtual  *virtualThreads // nil until it is asked for

	err          error // why there are no names
	deoptimizing bool  // a frame of deoptimization was passed
	sites        map[site]*codeInfo
	eviction     managed.IdleEviction
	callStub     uint64 // return address in the call stub; 0 until it is read
}

func (v *VM) frameSource() *javaFrames {
	if v.java == nil {
		valid := &validity{vm: v}
		j := &javaFrames{
			vm: v, validity: valid, sites: map[site]*codeInfo{},
			methods:  &methodNames{vm: v, validity: valid, byAddress: map[uint64]*method{}},
			compiled: &compiledCode{vm: v, validity: valid, byStart: map[uint64]*nmethod{}},
		}
		j.threads.vm, j.threads.methods = v, j.methods
		j.waiters.threads = &j.threads
		v.java = j
	}
	return v.java
}

func (j *javaFrames) ready(pc uint64) bool {
	if j.vm.nameLayout != nil || j.err != nil {
		return j.vm.nameLayout != nil
	}
	lacks := j.vm.layout.missing(wantNames, wantNameSizes, nameAlternatives...)
	if lacks == "" {
		if j.vm.heapOf(pc) == nil {
			return false
		}
		if j.vm.nameLayout = j.vm.readNameLayout(); j.vm.nameLayout == nil {
			lacks = "a release or offsets that are known"
		}
	}
	if lacks != "" {
		j.err = fmt.Errorf("the Java virtual machine's tables do not have %s; Java frames have no names", lacks)
	}
	return j.vm.nameLayout != nil
}

func (j *javaFrames) readFirstMoment(pc uint64) {
	if j.validity.latest.readAt == 0 && j.ready(pc) {
		j.validity.latest = j.validity.readClassMemoryState()
	}
}

// Values of [managed.Ref.Kind].
const (
	refCompiled uint8 = iota + 1
	refInterpreted
	refStub
)

func (j *javaFrames) begin(s *managed.Sample) {
	j.deoptimizing = false
	j.evictIdle(s.At)
	j.validity.beginWalk(s)
}

func (j *javaFrames) forget() {
	j.methods.forget()
	clear(j.compiled.byStart)
	clear(j.sites)
}

func (j *javaFrames) evictIdle(copiedAt int64) {
	before, due := j.eviction.Due(copiedAt)
	if !due {
		return
	}
	for addr, m := range j.methods.byAddress {
		if m.checked < before {
			j.methods.drop(addr)
		}
	}
	unused := func(nm *nmethod) bool { return nm != nil && nm.checked < before }
	maps.DeleteFunc(j.compiled.byStart, func(_ uint64, nm *nmethod) bool { return unused(nm) })
	maps.DeleteFunc(j.sites, func(_ site, info *codeInfo) bool { return unused(info.code) })
	maps.DeleteFunc(j.threads.lastNames, func(tid int, _ provenName) bool { // of ended threads
		_, lives := j.threads.byTID[tid]
		return !lives
	})
}

func (j *javaFrames) managedFrames(f *frames.Frame, out []managed.Ref) (refs []managed.Ref, replacesFrame bool) {
	if f.Module == nil || !f.Module.Generated || !j.ready(f.PC) {
		return out, false
	}
	info := j.infoAt(f)
	if info == nil {
		return out, false
	}
	j.deoptimizing = j.deoptimizing || info.deoptimizes
	ref := info.ref
	switch {
	case info.code != nil && info.code.since >= j.validity.copiedAt && j.validity.doubted(): // maybe later than the copy
		ref = managed.Ref{Object: ref.Object, Kind: refCompiled}
	case info.continuesDeopt && j.deoptimizing:
	case info.code != nil && f.AfterCall && slices.Contains(info.code.deoptHandlers[:], f.PC):
		ref = j.compiled.deoptimizedRef(f, info.code, ref)
	case info.interp != notInterpreted:
		if r, ok := j.interpretedRef(f, info.interp); ok {
			ref = r
		}
	}
	return append(out, ref), true
}

type site struct {
	pc        uint64
	afterCall bool
}

type codeInfo struct {
	ref    managed.Ref // of the code; see [javaFrames.interpretedRef]
	code   *nmethod    // nil in stubs and in the interpreter
	interp interpreterState
	// deoptimizes means that the frame replaces a compiled one, continuesDeopt that it then continues in the interpreter.
	deoptimizes, continuesDeopt bool
	unread                      bool
}

type interpreterState uint8

const (
	notInterpreted           interpreterState = iota
	interpretedFrameComplete                  // by rbp
	interpretedEntry                          // a register may have the method
)

const maxSites = 1 << 16

func (j *javaFrames) infoAt(f *frames.Frame) *codeInfo {
	key := site{f.PC, f.AfterCall}
	known := j.sites[key]
	if known != nil && (known.code == nil || known.code.checked >= j.validity.copiedAt ||
		j.compiled.isUnchanged(known.code)) {
		return known
	}
	delete(j.sites, key)
	info, ok := j.readInfo(f.PC, f.AfterCall)
	if !ok {
		return nil
	}
	if !info.unread {
		cache.Put(&j.sites, maxSites, key, &info)
	}
	return &info
}

func (j *javaFrames) readInfo(pc uint64, afterCall bool) (info codeInfo, ok bool) {
	since := j.vm.cached.begin(j.validity.copiedAt)
	defer j.vm.cached.bypass()
	b, ok := j.vm.find(pc)
	if !ok && afterCall {
		b, ok = j.vm.find(pc - 1)
	}
	switch {
	case !ok:
		return info, false
	case b.kind == kindInterpreter:
		return j.interpreterInfo(&b, pc, afterCall), true
	case b.kind == kindMethod && !b.stub:
		return j.compiledInfo(&b, pc, afterCall, since)
	}
	info.ref = j.stubRef(&b, pc, afterCall)
	if b.kind != kindStubRoutines {
		name := j.vm.blobName(b.begin)
		info.deoptimizes = strings.Contains(name, "Deoptimization") || strings.Contains(name, "UncommonTrap")
	}
	return info, true
}

// compiledInfo describes an address in a compiled method, or false if the method is no longer there.
func (j *javaFrames) compiledInfo(b *blob, pc uint64, afterCall bool, since int64) (info codeInfo, ok bool) {
	nm := j.compiled.compiledOf(b, min(pc, b.end-1), since)
	if nm == nil {
		return info, false
	}
	if !afterCall && j.vm.inCallStub(b, pc) {
		ref := managed.Ref{Object: nm.begin, Position: atStaticCallStub, Cookie: nm.cookie(), Kind: refStub}
		return codeInfo{ref: ref, code: nm}, true
	}
	ref, read := j.compiled.compiledRef(nm, pc, afterCall)
	return codeInfo{ref: ref, code: nm, unread: !read}, true
}

// Values of [managed.Ref.Position] of stubs.
const (
	atBlob = iota
	atCallStub
	atStaticCallStub // static call stub after a method
	atRoutine
	atVtableStub
	atItableStub
	atCodelet // or above
)

func (j *javaFrames) stubRef(b *blob, pc uint64, afterCall bool) managed.Ref {
	ref := managed.Ref{Object: b.begin, Position: atBlob, Kind: refStub}
	switch {
	case afterCall && j.callStubReturn() == pc:
		ref.Position = atCallStub
	case b.kind == kindStubRoutines:
		if afterCall {
			pc--
		}
		if r, ok := j.vm.stubs.routineAt(pc); ok {
			ref.Object, ref.Position = r.begin, atRoutine
		}
	case b.kind == kindDispatch:
		stub, itable, ok := j.vm.stubs.dispatchAt(b.begin, pc)
		if !ok {
			break
		}
		if ref.Object, ref.Position = stub, atVtableStub; itable {
			ref.Position = atItableStub
		}
	}
	return ref
}

func (j *javaFrames) callStubReturn() uint64 {
	if j.callStub == 0 {
		j.callStub = j.vm.memory().word(j.vm.layout.staticAddress("StubRoutines::_call_stub_return_address"))
	}
	return j.callStub
}
