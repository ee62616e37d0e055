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

// compiledOf gives a compiled method, read anew.
func (n *Names) compiledOf(b *blob, pc uint64) *compiled {
	at := n.clock()
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
	at, m, l := n.clock(), n.v.memory(), n.l
	id, method := m.int32(c.at+l.off("nmethod::_compile_id")), m.word(c.at+l.off(l.method))
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

// inInterpreter tells how the interpreter's frame looks at one of its addresses.
func (n *Names) inInterpreter(b *blob, pc uint64, caller bool) codeInfo {
	p := codeInfo{ref: managed.Ref{Object: b.begin, Kind: refStub}, interp: interpWhole}
	c, ok := n.v.codeletAt(b, pc)
	if !ok {
		p.interp = interpNone
		return p
	}
	p.ref.Object, p.ref.Position = c.text, c.begin
	p.replaced = caller && strings.Contains(n.v.memory().name(c.text), "deoptimization")
	q := frames.Query{PC: pc, Caller: caller}
	if _, row, ok := n.v.Rule(q); !ok || row != &interpreted {
		p.interp = interpNone
		if c.entry && !caller {
			p.interp = interpEnter
		}
	}
	return p
}

// The interpreter's frame, by its distances from rbp (frame_x86.hpp): the method, the class's constants, the bytecode.
const (
	atMethod    = 24
	atConstants = 48
	atBytecode  = 64
	before9     = 8 // both of the latter are a word nearer in JDK 8
)

// interpreted gives the place of an interpreted frame: false if what it says is no method.
func (n *Names) interpreted(f *frames.Frame, how interp) (managed.Ref, bool) {
	if how == interpEnter || f.FP == 0 || !f.Caller && f.SP > f.FP-atMethod {
		return n.entered(f)
	}
	less := uint64(0)
	if n.l.major < 9 {
		less = before9
	}
	at, ok := n.word(f.FP - atMethod)
	m := n.methodAt(at)
	if !ok || m == nil {
		return n.entered(f)
	}
	bcp := uint64(0)
	if f.Caller || f.SP <= f.FP-atBytecode+less {
		bcp, _ = n.word(f.FP - atBytecode + less)
		if pool, ok := n.word(f.FP - atConstants + less); !ok || pool != m.cache {
			return managed.Ref{Object: at, Kind: refInterpreted}, true // [freed]: another method is there by now
		}
	}
	if now, known := n.sample.Regs.Get(frames.X86R13); known && !f.Caller && now-m.code < m.size {
		bcp = now
	}
	r := managed.Ref{Object: at, Position: bcp - m.code, Cookie: n.cookieOf(m), Kind: refInterpreted}
	if r.Position >= m.size {
		r.Position = noBytecode
	}
	return r, true
}

// cookieOf gives what tells a method from others, 0 if at the time of the copy another one may have been there.
func (n *Names) cookieOf(m *method) uint64 {
	if m.since >= n.at && n.doubted() {
		return 0
	}
	return m.cookie
}

// noBytecode is the position of a method whose bytecode is not known, or that has none.
const noBytecode = 1 << 32

// entered gives the method that is just being called, which rbx has until its frame is made. That it is one is proven
// by its entry: that of the very piece of the interpreter that the thread is in.
func (n *Names) entered(f *frames.Frame) (managed.Ref, bool) {
	at, ok := n.sample.Regs.Get(frames.X86RBX)
	if !ok || f.Caller {
		return managed.Ref{}, false
	}
	b, ok := n.v.find(f.PC)
	if !ok {
		return managed.Ref{}, false
	}
	c, ok := n.v.codeletAt(&b, f.PC)
	m := n.methodAt(at)
	if !ok || m == nil {
		return managed.Ref{}, false
	}
	if entry := n.v.memory().word(at + n.l.off("Method::_i2i_entry")); entry < c.begin || entry >= c.end {
		return managed.Ref{}, false
	}
	return managed.Ref{Object: at, Position: noBytecode, Cookie: n.cookieOf(m), Kind: refInterpreted}, true
}

func (n *Names) word(addr uint64) (uint64, bool) { return n.sample.Mem.Word(addr) }

// Describe implements [managed.Namer].
func (n *Names) Describe(r managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Truth) {
	if n.l == nil {
		return out, managed.Freed
	}
	var ok bool
	switch r.Kind {
	case refCompiled:
		out, ok = n.describeCompiled(r, out)
	case refInterpreted:
		out, ok = n.describeInterpreted(r, out)
	case refStub:
		out, ok = append(out, managed.Frame{Function: n.stubName(r), Type: "stub"}), true
	}
	switch {
	case !ok:
		return out, managed.Freed
	case l != nil && l.Unchanged():
		return out, managed.Proven
	}
	return out, managed.Checked
}

// describeInterpreted names an interpreted method.
func (n *Names) describeInterpreted(r managed.Ref, out []managed.Frame) ([]managed.Frame, bool) {
	m := n.methodAt(r.Object)
	if m == nil || m.cookie != r.Cookie {
		return out, false
	}
	f := n.frameOf(m, int32(min(r.Position, noBytecode-1)), "interpreted")
	if r.Position == noBytecode {
		f.Line = f.StartLine
	}
	if m.size == 0 {
		f.Type = "native"
	}
	return append(out, f), true
}

// describeCompiled names the methods of a place in compiled code.
func (n *Names) describeCompiled(r managed.Ref, out []managed.Frame) ([]managed.Frame, bool) {
	c := n.code[r.Object]
	if c == nil || c.cookie() != r.Cookie {
		return out, false
	}
	kind := "c2"
	switch {
	case c.native:
		kind = "native"
	case c.level < 4:
		kind = "c1"
	}
	n.callsAt(c, r.Position)
	for i, at := range n.calls {
		m := n.methodAt(at.method)
		if m == nil {
			return out, false
		}
		f := n.frameOf(m, at.bci, kind)
		f.Inlined = i < len(n.calls)-1
		out = append(out, f)
	}
	return out, true
}

// callsAt fills in the methods of a place: those that the scopes on both sides have in common. At least the one that
// was compiled is known.
func (n *Names) callsAt(c *compiled, position uint64) {
	next, prev := uint32(position>>32), uint32(position)
	var ok bool
	if n.calls, ok = n.chain(c, next, n.calls[:0]); !ok {
		n.calls = append(n.calls[:0], call{c.method, invocation})
		return
	}
	if prev == next {
		return
	}
	common := 1
	if n.others, ok = n.chain(c, prev, n.others[:0]); ok {
		common = commonCalls(n.calls, n.others)
	}
	n.calls = n.calls[len(n.calls)-common:]
}

// commonCalls counts the outer methods that two places have in common, with what they call at the same bytecode.
func commonCalls(a, b []call) int {
	i := 1
	for i < min(len(a), len(b)) && a[len(a)-i] == b[len(b)-i] && a[len(a)-i-1].method == b[len(b)-i-1].method {
		i++
	}
	return i
}

// maxCode is more than any method's code has, in bytes.
const maxCode = 1 << 30

// frameOf is the frame of a method.
func (n *Names) frameOf(m *method, bci int32, kind string) managed.Frame {
	f := managed.Frame{Function: m.name, File: m.file, Type: kind, StartLine: n.lineAt(m, 0)}
	if f.Line = f.StartLine; bci > 0 {
		f.Line = n.lineAt(m, bci)
	}
	return f
}

// stubName gives the name of code that is no method's, as the machine calls it.
func (n *Names) stubName(r managed.Ref) string {
	if r.Position == 1 {
		return "call_stub"
	}
	m := n.v.memory()
	if r.Position > 1 {
		return "Interpreter (" + strings.TrimSpace(m.name(r.Object)) + ")"
	}
	return n.v.Describe(r.Object)
}
