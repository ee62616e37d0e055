// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"path"
	"regexp"
	"slices"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
)

// Runtime is V8 in a process. It implements [managed.FrameSource].
type Runtime struct {
	managed.Base
	heap         heap
	functions    functions
	codes        codes
	module       *frames.Module
	sample       *managed.Sample
	handlerFrame uint64 // fp of the interpreter frame with the innermost handler, or 0
	eviction     managed.IdleEviction
}

var _ managed.FrameSource = (*Runtime)(nil)

var v8File = regexp.MustCompile(`^(node|nodejs|nsolid|iojs)\d*(\.\d+)*$|^lib(node|v8)[-.\d_a-z]*\.so(\.[\d.]+)?$`)

// Detect implements [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	if h.Arch() != frames.X86_64 && h.Arch() != frames.ARM64 {
		return nil, nil
	}
	hasGenerated := len(managed.Unowned(h)) > 0
	for _, m := range h.Modules() {
		if m.Generated || m.Name == "" || m.Name[0] != '/' {
			continue
		}
		base := path.Base(m.Name)
		if !v8File.MatchString(base) && (!hasGenerated || path.Ext(base) == ".so" || sharedFile.MatchString(base)) {
			continue
		}
		d, err := describe(h, m)
		switch {
		case err != nil:
			return nil, err
		case d != nil:
			return newRuntime(h, m, d), nil
		}
	}
	return nil, nil
}

var sharedFile = regexp.MustCompile(`\.so\.`)

func newRuntime(h managed.Host, m *frames.Module, d *v8Build) *Runtime {
	r := &Runtime{module: m}
	r.heap = heap{build: d, host: h, live: running{h}, maps: map[uint64]uint16{}}
	r.functions.heap, r.codes.heap, r.codes.places.heap = &r.heap, &r.heap, &r.heap
	r.codes.functions = &r.functions
	r.Forget()
	return r
}

// Name implements [managed.Runtime].
func (r *Runtime) Name() string {
	if r.heap.build.node != "" {
		return "Node " + r.heap.build.node
	}
	return "V8 " + r.heap.build.full
}

// Attach implements [managed.Runtime].
func (r *Runtime) Attach(h managed.Host) bool {
	m := managed.ModuleAgain(h, r.module)
	if m == nil {
		return false
	}
	r.heap.host, r.module, r.codes.emptyRanges = h, m, nil
	for _, m := range managed.Unowned(h) {
		managed.AddSource(m, jitRules{r})
	}
	return true
}

// Forget implements [managed.Runtime].
func (r *Runtime) Forget() {
	r.functions.forget()
	r.codes.byStart, r.codes.emptyRanges, r.heap.instructionStreamMap = nil, nil, 0
	clear(r.heap.maps)
	r.codes.places.forget()
}

// Begin implements [managed.FrameSource].
func (r *Runtime) Begin(s *managed.Sample) {
	r.sample, r.functions.copiedAt, r.heap.live, r.handlerFrame = s, s.At, s.Live, 0
	r.evictIdle(s.At)
	r.codes.dropEmptyRanges()
	if r.functions.kept > maxKept {
		r.functions.forget()
	}
}

// End implements [managed.FrameSource].
func (r *Runtime) End() managed.Health { return managed.Matched }

const (
	refInterpreted uint8 = iota + 1
	refBaseline
	refOptimized
	refRegExp
	refUnproven
)

// ManagedFrames implements [managed.FrameSource].
func (r *Runtime) ManagedFrames(f *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	switch {
	case f.Module == nil:
		return out, false
	case f.Module.Generated:
		return r.appendCompiled(f, cfa, out)
	case r.inBuiltins(f):
		return r.appendInterpreted(f, cfa, out)
	}
	return out, false
}

// inBuiltins reports whether a frame is in the builtins, or in V8's copy of them.
func (r *Runtime) inBuiltins(f *frames.Frame) bool {
	return f.Module.Name == r.module.Name && r.heap.build.code.Has(r.inFile(f.LookupPC(r.heap.host.Arch()), f.Module))
}

// inFile converts an address in V8's file, which may be mapped elsewhere, to the described mapping.
func (r *Runtime) inFile(pc frames.Addr, m *frames.Module) frames.Addr {
	return pc - m.Bias + r.module.Bias
}

// runsBytecode reports whether a frame is in a builtin that only enters bytecode.
func (r *Runtime) runsBytecode(f *frames.Frame) bool {
	pc := r.inFile(f.PC, f.Module) // maybe the first instruction
	return slices.ContainsFunc(r.heap.build.bytecodeBuiltins, func(s managed.Span) bool { return s.Has(pc) })
}

const (
	fpContext = 8      // below fp
	maxType   = 2 << 7 // above the types of frames, each twice its number (V8's src/execution/frames.h)
)

func (r *Runtime) frameOf(f *frames.Frame, cfa frames.Addr) (fp, closure uint64) {
	inPrologueOrEpilogue := !f.AfterCall && f.FP+uint64(r.heap.build.fpFunction) < f.SP
	if f.FP == 0 || cfa != f.FP+16 || inPrologueOrEpilogue {
		return 0, 0
	}
	mem := r.sample.Mem
	context, ok := mem.Word(f.FP - fpContext)
	if !ok || !isObject(context) {
		return 0, 0
	}
	closure, ok = mem.Word(f.FP + uint64(r.heap.build.fpFunction))
	if !ok || !isObject(closure) {
		return 0, 0
	}
	return f.FP, closure
}

func (r *Runtime) isTypedFrame(f *frames.Frame, cfa frames.Addr) bool {
	if f.FP == 0 || cfa != f.FP+16 {
		return false
	}
	w, ok := r.sample.Mem.Word(f.FP - fpContext)
	return ok && w != 0 && w&heapObjectTag == 0 && w < maxType
}

// codeOf returns a frame's code, a typed frame's in its mapping, or nil.
func (r *Runtime) codeOf(f *frames.Frame, cfa frames.Addr, pc uint64) *code {
	if !r.isTypedFrame(f, cfa) {
		return r.codes.codeAt(pc)
	}
	c, missed := r.codes.codeAbove(f.Module.Start, pc)
	if c == nil {
		r.codes.keepEmptyRange(missed)
	}
	return c
}

// isIncomplete reports whether the frame is being made: words below the stack pointer are stale.
func (r *Runtime) isIncomplete(f *frames.Frame) bool {
	return !f.AfterCall && f.FP+uint64(r.heap.build.fpOffset) < f.SP
}

// refByClosure returns an incomplete frame's function by its closure: valid only while the thread is unchanged.
func (r *Runtime) refByClosure(closure uint64, kind uint8) managed.Ref {
	if r.heap.live.Unchanged() {
		if fn := r.functions.functionOfClosure(closure); fn != nil {
			return managed.Ref{Object: fn.sfi, Cookie: fn.cookie, Kind: kind}
		}
	}
	return unprovenRef
}

// noPosition is of a Ref to a function without a known line.
const noPosition = ^uint64(0)

var unprovenRef = managed.Ref{Kind: refUnproven}

// appendInterpreted appends an interpreter frame's function, which replaces the bytecode's handler.
func (r *Runtime) appendInterpreted(f *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	fp, closure := r.frameOf(f, cfa)
	switch {
	case fp == 0:
		return out, !f.AfterCall && r.inHandler(f.FP)
	case r.isIncomplete(f):
		if !r.runsBytecode(f) {
			return out, false
		}
		return append(out, r.refByClosure(closure, refInterpreted)), true
	}
	bytecodes, ok1 := r.sample.Mem.Word(fp + uint64(r.heap.build.fpBytecodes))
	offset, ok2 := r.sample.Mem.Word(fp + uint64(r.heap.build.fpOffset))
	at, ok3 := smiValue(offset)
	if !ok1 || !ok2 || !ok3 || !isObject(bytecodes) {
		return out, false
	}
	fn := r.functions.functionAt(bytecodes, closure)
	switch {
	case fn == nil && !r.runsBytecode(f) && fp != r.handlerFrame && (f.AfterCall || !r.inHandler(fp)):
		return out, false
	case fn == nil || !r.isProvenFor(fn, closure):
		return append(out, unprovenRef), true
	}
	if !f.AfterCall || fp == r.handlerFrame {
		at = r.currentOffset(bytecodes, at)
	}
	at -= int(r.heap.build.bytesData) - heapObjectTag
	return append(out, managed.Ref{Object: fn.sfi, Position: uint64(max(at, 0)), Cookie: fn.cookie,
		Kind: refInterpreted}), true
}

// inHandler reports whether the innermost frame is a handler of the interpreter frame at fp: a register has bytecodes.
func (r *Runtime) inHandler(fp uint64) bool {
	bytecodes, ok := r.sample.Mem.Word(fp + uint64(r.heap.build.fpBytecodes))
	if !ok || !isObject(bytecodes) || r.sample.Regs.Arch != frames.X86_64 {
		return false
	}
	if b, ok := r.sample.Regs.Get(arrayRegister); !ok || b != bytecodes {
		return false
	}
	if _, is := r.heap.ofType(bytecodes, r.heap.build.types.bytecodes); !is && r.functions.byBytecodes[bytecodes] == nil {
		return false // a builtin's own frame
	}
	r.handlerFrame = fp
	return true
}

// The registers are r12 and r9 (src/codegen/x64/register-x64.h).
const arrayRegister, offsetRegister = 12, 9

// currentOffset returns the bytecode offset in a handler's registers. The stack's is the last call's; on arm64 the
// innermost frame has that line.
func (r *Runtime) currentOffset(bytecodes uint64, stored int) int {
	regs := r.sample.Regs
	if regs.Arch != frames.X86_64 {
		return stored
	}
	b, ok1 := regs.Get(arrayRegister)
	at, ok2 := regs.Get(offsetRegister)
	if !ok1 || !ok2 || b != bytecodes || at < r.heap.build.bytesData-heapObjectTag || at > maxBytecodes {
		return stored
	}
	return int(at)
}

func (r *Runtime) appendCompiled(f *frames.Frame, cfa frames.Addr, out []managed.Ref) ([]managed.Ref, bool) {
	pc := f.LookupPC(r.heap.host.Arch())
	c := r.codeOf(f, cfa, pc)
	switch {
	case c == nil:
		return out, false
	case c.kind == kindRegExp:
		return append(out, r.refOfRegExp(f, cfa, c)), true
	case c.kind == "": // interpreter entry, with --interpreted-frames-native-stack
		return r.appendInterpreted(f, cfa, out)
	case c.kind == kindBaseline:
		return r.appendBaseline(f, cfa, c, int(pc-c.start), out)
	case c.function == nil:
		return out, false
	case !r.isProvenOptimized(f, cfa, c):
		return append(out, unprovenRef), true
	}
	return append(out, managed.Ref{Object: c.start, Position: pc - c.start, Cookie: c.cookie(), Kind: refOptimized}), true
}

// isProvenOptimized reports whether optimized code is the frame's, or later code of the function of its closure: the
// line and inlined calls can be those of a later compilation.
func (r *Runtime) isProvenOptimized(f *frames.Frame, cfa frames.Addr, c *code) bool {
	if r.unmovedSince(c.since) {
		return true
	}
	_, closure := r.frameOf(f, cfa)
	return (c.since < r.functions.copiedAt || r.functions.isProven(c.function)) && r.hasClosureOf(c.function, closure)
}

// refOfRegExp names only a complete frame by code that may be later than the copy; a JSFunction is in frames of
// JavaScript.
func (r *Runtime) refOfRegExp(f *frames.Frame, cfa frames.Addr, c *code) managed.Ref {
	_, closure := r.frameOf(f, cfa)
	isOther := closure != 0 || f.FP == 0 || cfa != f.FP+16 || r.isIncomplete(f)
	if isOther && !r.unmovedSince(c.since) && !r.heap.live.Unchanged() {
		return unprovenRef
	}
	return managed.Ref{Object: c.start, Kind: refRegExp}
}

// unmovedSince reports whether an object at its address since a time was there at the copy.
func (r *Runtime) unmovedSince(since int64) bool {
	return r.functions.copiedAt == 0 || since < r.functions.copiedAt && !r.codes.places.recentlyCompacted()
}

func (r *Runtime) hasClosureOf(fn *function, closure uint64) bool {
	return r.heap.live.Unchanged() || r.functions.functionOfClosure(closure) == fn
}

func (r *Runtime) isProvenFor(fn *function, closure uint64) bool {
	return r.functions.isProven(fn) && (r.unmovedSince(fn.moved) || r.hasClosureOf(fn, closure))
}

// appendBaseline appends the function of baseline code. The code now at the address is that of the copy if it has the
// frame's bytecodes.
func (r *Runtime) appendBaseline(
	f *frames.Frame, cfa frames.Addr, c *code, place int, out []managed.Ref,
) ([]managed.Ref, bool) {
	bytecodes, same := c.bytecodes, r.unmovedSince(c.since)
	fp, closure := r.frameOf(f, cfa)
	switch {
	case fp != 0 && !r.isIncomplete(f):
		in, _ := r.sample.Mem.Word(fp + uint64(r.heap.build.fpBytecodes))
		if bytecodes == 0 {
			bytecodes = in
		}
		same = in == bytecodes
	case fp != 0 && bytecodes == 0:
		return append(out, r.refByClosure(closure, refBaseline)), true
	case fp == 0 && !f.AfterCall && r.sample.Regs.Arch == frames.X86_64:
		closure, _ = r.sample.Regs.Get(frames.X86RDI)
	}
	fn := r.functions.functionAt(bytecodes, closure)
	if fn == nil || !r.isProvenFor(fn, closure) || !same && !r.hasClosureOf(fn, closure) {
		return append(out, unprovenRef), true
	}
	ref := managed.Ref{Object: fn.sfi, Cookie: fn.cookie, Kind: refBaseline}
	at, ok := bytecodeAt(c.positions, r.functions.bytecode(fn), r.heap.build.sizes, place)
	switch {
	case ok:
		ref.Position = uint64(at)
	case beforeFirstBytecode(c.positions, place):
	case len(r.heap.build.sizes) == 0:
		ref.Position = noPosition
	default:
		ref = unprovenRef
	}
	return append(out, ref), true
}

const regExp = "(regexp)"

// Symbolize implements [managed.FrameSource].
func (r *Runtime) Symbolize(ref managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	r.heap.live = l
	kind := kindInterpreted
	switch ref.Kind {
	case refUnproven:
		return append(out, managed.Frame{Function: languages.MovedFunction}), managed.Checked
	case refRegExp:
		return append(out, managed.Frame{Function: regExp, Type: kindRegExp}), managed.Checked
	case refBaseline:
		kind = kindBaseline
	}
	truth := managed.Checked
	if l.Unchanged() {
		truth = managed.SameMemory
	}
	if ref.Kind == refOptimized {
		c := r.codes.codeAt(ref.Object + ref.Position)
		if c == nil || c.function == nil || c.start != ref.Object || c.cookie() != ref.Cookie {
			return out, managed.Freed
		}
		return r.appendOptimized(c, int(ref.Position), out), truth
	}
	f := r.functions.byInfo[ref.Object]
	if f == nil || f.cookie != ref.Cookie {
		return out, managed.Freed
	}
	p, ok := positionAt(f.positions, r.heap.build.atLeast(14, 0), int(ref.Position))
	return append(out, r.frame(f, p, ok && ref.Position != noPosition, kind)), truth
}

// frame has a line only if known.
func (r *Runtime) frame(f *function, p position, known bool, kind string) managed.Frame {
	if f.script != nil && f.naming.begin < 0 && f.tries < maxTries {
		r.functions.refresh(f) // as the answer is kept
	}
	m := managed.Frame{Function: f.naming.name, StartLine: f.naming.start, Type: kind}
	if f.script == nil {
		return m
	}
	if f.naming.start == 0 {
		f.naming.start = r.functions.line(f.script, f.scriptAt, f.naming.begin)
	}
	m.File, m.StartLine = f.script.name, f.naming.start
	switch {
	case !known:
	case p == atEntry:
		m.Line = f.naming.start
	default:
		m.Line = r.functions.line(f.script, f.scriptAt, p.offset())
	}
	return m
}

const maxInlineDepth = 64

func (r *Runtime) appendOptimized(c *code, place int, out []managed.Frame) []managed.Frame {
	p, ok := positionAt(c.positions, r.heap.build.atLeast(14, 0), place)
	if c.exits > 0 && place >= c.exits {
		ok = false
	}
	for i := 0; ok && i < maxInlineDepth; i++ {
		n := p.inlined()
		if n < 0 {
			break
		}
		if n >= len(c.inlined) {
			out = append(out, managed.Frame{Function: languages.MovedFunction, Inlined: true})
			ok = false
			break
		}
		call := &c.inlined[n]
		switch {
		case call.unread:
			out = append(out, managed.Frame{Function: languages.MovedFunction, Inlined: true})
		case call.function != nil:
			m := r.frame(call.function, p, true, c.kind)
			m.Inlined = true
			out = append(out, m)
		}
		p = call.at
	}
	return append(out, r.frame(c.function, p, ok, c.kind))
}

func (r *Runtime) evictIdle(at int64) {
	before, due := r.eviction.Due(at)
	if !due {
		return
	}
	for w, f := range r.functions.byInfo {
		if f.checked < before {
			r.functions.drop(w)
		}
	}
	r.codes.byStart = slices.DeleteFunc(r.codes.byStart, func(c *code) bool { return c.checked < before })
}
