// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/host/procmem"
)

// function is a SharedFunctionInfo, shared by all closures.
//
//	JSFunction ── shared ──► SharedFunctionInfo ── name or scope ──► String or ScopeInfo: name, begin, end
//	                             │      └───────── script ──► Script: id, file, source
//	                             └ data ──► BytecodeArray ◄─────────────────┐
//	                                    or InterpreterData ── bytecodes ────┤
//	                                    or Code (baseline) ── bytecodes ────┘
//
// The numbers of script (in an isolate) and function (in a script) identify a moved function.
type function struct {
	sfi            uint64
	scriptAt       uint64
	data           uint64 // when last read
	head           sfiHead
	bytecodeLinkAt uint64 // address of the link in a Code or InterpreterData; 0 means that it is in head
	bytecodeLink   [8]byte
	script         *script
	literal        uint32
	cookie         uint64

	naming naming
	tries  int // to read the name

	bytecodes   uint64 // 0 means none
	moved       int64  // last move, in nanoseconds of CLOCK_MONOTONIC; 0 means never
	positionsAt uint64 // when read
	positions   []byte
	bytecode    []byte // read for baseline code

	since   int64 // first read, in nanoseconds of CLOCK_MONOTONIC
	checked int64 // last read
}

type naming struct {
	name  string
	begin int // place in the source; -1 means unknown
	start int // line of begin; 0 means unknown
}

const (
	sfiSize      = 64
	maxFunctions = 1 << 14
	maxTable     = 4 << 20  // bytes
	maxKept      = 64 << 20 // bytes of all tables
)

type sfiHead [sfiSize]byte

func (h *sfiHead) word(off uint64) uint64 { return binary.LittleEndian.Uint64(h[off:]) }

type functions struct {
	heap         *heap
	byInfo       map[uint64]*function
	byBytecodes  map[uint64]*function
	scripts      map[uint64]*script
	kept         int   // bytes of tables
	copiedAt     int64 // time of the walk's copy; 0 means none
	head         sfiHead
	bytecodeLink [8]byte
}

func (r *functions) forget() {
	r.byInfo, r.byBytecodes, r.scripts = map[uint64]*function{}, map[uint64]*function{}, map[uint64]*script{}
	r.kept = 0
}

func (r *functions) functionOf(w uint64) *function {
	if f := r.byInfo[w]; f != nil {
		if f.checked >= r.copiedAt && r.copiedAt != 0 || r.refresh(f) {
			return f
		}
		r.drop(w)
	}
	object, ok := r.heap.ofType(w, r.heap.build.types.sfi)
	if !ok {
		return nil
	}
	f := &function{sfi: object}
	if !r.readFunction(f) || !r.isSameTable(f) || !r.isSame(f) || f.lacksScript() {
		return nil // something may have moved: the next walk reads it
	}
	f.checked = procmem.Now()
	f.since = f.checked
	switch {
	case r.kept > maxKept: // perhaps the lines of scripts, which no single function gives back
		r.forget()
	case len(r.byInfo) >= maxFunctions:
		r.drop(cache.Any(r.byInfo))
	}
	r.byInfo[object] = f
	r.kept += f.size()
	if f.bytecodes != 0 {
		r.byBytecodes[f.bytecodes] = f
	}
	return f
}

// lacksScript reports whether the script was unreadable: each function with bytecodes has one.
func (f *function) lacksScript() bool { return f.script == nil && f.bytecodes != 0 }

func (r *functions) drop(w uint64) {
	f := r.byInfo[w]
	if f == nil {
		return
	}
	if r.byBytecodes[f.bytecodes] == f {
		delete(r.byBytecodes, f.bytecodes)
	}
	delete(r.byInfo, w)
	r.kept -= f.size()
}

// size is of the tables, in bytes.
func (f *function) size() int { return len(f.positions) + len(f.bytecode) }

// readHead reads the head as it is now, and the link to the bytecodes; it returns false if another script is at the
// address of the function's.
func (r *functions) readHead(f *function) bool {
	var id [8]byte
	r.bytecodeLink = [8]byte{}
	r.heap.parts = append(r.heap.parts[:0], frames.Region{Addr: f.sfi - heapObjectTag, Bytes: r.head[:]})
	if f.bytecodeLinkAt != 0 {
		r.heap.parts = append(r.heap.parts, frames.Region{Addr: f.bytecodeLinkAt, Bytes: r.bytecodeLink[:]})
	}
	if f.script != nil {
		r.heap.parts = append(r.heap.parts, frames.Region{Addr: f.scriptAt - heapObjectTag + r.heap.build.scriptID,
			Bytes: id[:]})
	}
	if !r.heap.readParts(r.heap.parts) {
		return false
	}
	got, ok := smiValue(binary.LittleEndian.Uint64(id[:]))
	return f.script == nil || ok && got == f.script.id
}

func (r *functions) isSame(f *function) bool {
	return r.readHead(f) && r.head == f.head && r.bytecodeLink == f.bytecodeLink
}

func (r *functions) isSameTable(f *function) bool {
	return f.bytecodes == 0 || r.heap.field(f.bytecodes, r.heap.build.bytesPositions) == f.positionsAt
}

// refresh reads again what has changed, and a name that could not be read. It returns false for another function.
func (r *functions) refresh(f *function) bool {
	if !r.readHead(f) {
		return false
	}
	read, before := r.head != f.head || r.bytecodeLink != f.bytecodeLink, f.naming
	if read {
		literal := uint32(r.head.word(r.heap.build.sfiFlags) >> 32)
		if r.head.word(r.heap.build.sfiScript) != f.scriptAt || literal != f.literal || r.head.word(0) != f.head.word(0) {
			return false
		}
		f.head = r.head
		r.readCode(f)
	}
	if f.naming.begin < 0 && f.tries < maxTries {
		f.tries++
		r.readNames(f)
		read = true
	}
	if read && (!r.isSameTable(f) || !r.isSame(f) || f.lacksScript()) {
		f.naming = before // what was read may be another's
		return false
	}
	f.checked = procmem.Now()
	return true
}

func (r *functions) readFunction(f *function) bool {
	if r.heap.live.Read(f.sfi-heapObjectTag, f.head[:]) != len(f.head) {
		return false
	}
	f.scriptAt, f.literal = f.head.word(r.heap.build.sfiScript), uint32(f.head.word(r.heap.build.sfiFlags)>>32)
	if f.script = r.scriptOf(f.scriptAt); f.script == nil && !r.heap.build.atLeast(12, 0) { // being debugged
		if object, typ := r.heap.object(f.scriptAt); typ != noType {
			f.scriptAt = r.heap.field(object, 16)
			f.script = r.scriptOf(f.scriptAt)
		}
	}
	if f.script != nil {
		f.cookie = uint64(f.script.id)<<32 | uint64(f.literal)
	}
	r.readNames(f)
	r.readCode(f)
	return true
}

func (r *functions) readNames(f *function) {
	r.readName(f, f.head.word(r.heap.build.sfiName))
	if f.script != nil {
		if kind := f.head.word(r.heap.build.sfiFlags) & functionKind; f.naming.begin >= 0 && f.naming.name == anonymous &&
			mayBeAssigned(kind) {
			f.naming.name = r.assignedName(f)
		}
		f.naming.start = r.line(f.script, f.scriptAt, f.naming.begin)
	}
}

func (r *functions) readCode(f *function) {
	f.data = f.head.word(r.heap.build.sfiData)
	var bytecodes, linked uint64
	bytecodes, f.bytecodeLinkAt, linked = r.bytecodesOf(f.data)
	binary.LittleEndian.PutUint64(f.bytecodeLink[:], linked)
	if bytecodes == f.bytecodes {
		return
	}
	if r.byBytecodes[f.bytecodes] == f {
		delete(r.byBytecodes, f.bytecodes)
	}
	if f.bytecodes != 0 {
		f.moved = procmem.Now()
	}
	before := f.size()
	f.bytecodes, f.positions, f.bytecode = bytecodes, nil, nil
	if bytecodes != 0 {
		f.positionsAt = r.heap.field(bytecodes, r.heap.build.bytesPositions)
		f.positions = r.heap.array(f.positionsAt, 1, maxTable)
	}
	if r.byInfo[f.sfi] == f {
		r.kept += f.size() - before
		if bytecodes != 0 {
			r.byBytecodes[bytecodes] = f
		}
	}
}

// bytecodesOf returns the bytecodes to which a function's data lead. linked is the last word on the way, at link; both
// are 0 if there is none.
func (r *functions) bytecodesOf(data uint64) (bytecodes, link, linked uint64) {
	t := &r.heap.build.types
	for range 3 {
		object, typ := r.heap.object(data)
		if typ == noType {
			break
		}
		off := uint64(8)
		switch typ {
		case t.bytecodes:
			return object, link, linked
		case t.interpreterData:
		case t.baselineData:
			off = 16
		case t.code:
			off = r.heap.build.codeDeopt
		default:
			return 0, link, linked
		}
		link = object - heapObjectTag + off
		data = r.heap.word(link)
		linked = data
	}
	return 0, link, linked
}

func (r *functions) bytecode(f *function) []byte {
	if f.bytecode == nil {
		if n, ok := smiValue(r.heap.field(f.bytecodes, r.heap.build.bytesLength)); ok && n > 0 && n <= maxBytecodes {
			f.bytecode = r.heap.read(f.bytecodes-heapObjectTag+r.heap.build.bytesData, n)
		}
		if f.bytecode != nil && !r.isSame(f) {
			f.bytecode = nil
		}
		if r.byInfo[f.sfi] == f {
			r.kept += len(f.bytecode)
		}
	}
	return f.bytecode
}

// # Names and bounds (src/objects/scope-info.tq)
//
//	flags, number of parameters, number of variables in the context[, begin, end]
//	[number of variables of a module]
//	their names, or from 75 on a table of them; properties of each
//	[of a class][name of the function][inferred name]
//	[begin, end]

const (
	scopeFlags       = 8
	scopeLocals      = 24
	scopeFixed       = 32 // what follows
	maxLocals        = 1 << 14
	manyLocals       = 75
	scopeType        = 15
	scopeClass       = 1 << 10
	scopeHasName     = 3 << 12
	scopeInferred    = 1 << 14
	scopeModule      = 3
	scopeModuleLater = 5 // from V8 12.8 on
	scopeReceiver    = 3 << 7
)

const anonymous = "(anonymous)"

func (r *functions) readName(f *function, w uint64) {
	f.naming.name, f.naming.begin = anonymous, -1
	object, typ := r.heap.object(w)
	switch {
	case typ == noType:
		return
	case typ < r.heap.nonstring():
		if name, ok := r.heap.text(object); ok && name != "" {
			f.naming.name = name
		}
		return
	case typ == r.heap.build.types.scope:
		r.readScope(f, object)
	}
}

func (r *functions) readScope(f *function, object uint64) {
	flags := r.heap.field(object, scopeFlags)
	if r.heap.build.scopeBounds == 0 {
		flags >>= 32
	}
	n, ok := smiValue(r.heap.field(object, scopeLocals))
	if !ok || n < 0 || n > maxLocals {
		return
	}
	at := r.afterLocals(object, flags, uint64(n))
	if flags&scopeClass != 0 {
		at += 8
	}
	if kept := flags & scopeReceiver; !r.heap.build.atLeast(10, 0) && kept != 0 && kept != scopeReceiver {
		at += 8
	}
	name := ""
	if flags&scopeHasName != 0 {
		name, _ = r.heap.text(r.heap.field(object, at))
		at += 16
	}
	if flags&scopeInferred != 0 {
		if inferred, _ := r.heap.text(r.heap.field(object, at)); name == "" {
			name = inferred
		}
		at += 8
	}
	if r.heap.build.scopeBounds != 0 {
		at = r.heap.build.scopeBounds
	}
	f.naming.begin = r.beginOf(object, at)
	if name != "" {
		f.naming.name = name
	}
}

func (r *functions) afterLocals(object, flags, n uint64) uint64 {
	at, module := uint64(scopeFixed), uint64(scopeModule)
	if r.heap.build.scopeBounds != 0 {
		at, module = r.heap.build.scopeBounds+16, scopeModuleLater
	}
	if flags&scopeType == module {
		at += 8
	}
	names := n
	if n >= manyLocals {
		if _, typ := r.heap.object(r.heap.field(object, at)); typ >= r.heap.nonstring() && typ != noType {
			names = 1
		}
	}
	return at + 8*(names+n)
}

func (r *functions) beginOf(object, at uint64) int {
	begin, ok1 := smiValue(r.heap.field(object, at))
	end, ok2 := smiValue(r.heap.field(object, at+8))
	if !ok1 || !ok2 || begin < 0 || end < begin {
		return -1
	}
	return begin
}

// # Proofs of names
//
// Names are read after the copy, when objects may have moved. Objects unchanged from before to after the copy are
// proven, and all of a sleeper's. A new function needs two independent proofs: function and bytecodes, or code.
// Functions of eval and new Function must be known before the copy.

func (r *functions) isProven(f *function) bool {
	return f.since < r.copiedAt || r.copiedAt == 0 || f.script != nil && f.script.named || r.heap.live.Unchanged()
}

func (r *functions) functionAt(bytecodes, closure uint64) *function {
	if f := r.byBytecodes[bytecodes]; f != nil {
		if r.functionOf(f.sfi) == f && f.bytecodes == bytecodes {
			return f
		}
	}
	if f := r.functionOfClosure(closure); f != nil && f.bytecodes == bytecodes {
		return f
	}
	if _, ok := r.heap.ofType(bytecodes, r.heap.build.types.bytecodes); !ok {
		return nil
	}
	r.listFunctions()
	if f := r.byBytecodes[bytecodes]; f != nil && f.bytecodes == bytecodes {
		return f
	}
	return nil
}

func (r *functions) functionOfClosure(w uint64) *function {
	if object, ok := r.heap.isFunction(w); ok {
		return r.functionOf(r.heap.field(object, r.heap.build.jsShared))
	}
	return nil
}
