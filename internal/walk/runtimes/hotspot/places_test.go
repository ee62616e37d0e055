// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
)

const (
	stackAt = 0x7000000
	callers = 0x20060
)

func step(t *testing.T, v *VM, q frames.Query, regs map[uint8]uint64, stack map[uint64]uint64) (frames.Regs, bool) {
	t.Helper()
	m := &frames.Module{
		Start: codeAt, End: codeEnd, Generated: true, NoFP: true, Sources: []frames.RuleSource{v}, Calls: anyCall{},
	}
	inner := &frames.Module{Start: 0x100, End: 0x200, Sources: []frames.RuleSource{innerSource{}}, Calls: anyCall{}}
	s := frames.NewSpace(frames.X86_64)
	s.SetModules([]*frames.Module{inner, m})
	b := make([]byte, 0x1000)
	for at, w := range stack {
		binary.LittleEndian.PutUint64(b[at-stackAt:], w)
	}
	r := frames.Regs{PC: q.PC, Arch: frames.X86_64}
	for reg, val := range regs {
		r.Set(reg, val)
	}
	if q.AfterCall { // inner frame, return address below sp
		binary.LittleEndian.PutUint64(b[regs[frames.X86RSP]-8-stackAt:], q.PC)
		r.PC = 0x150
		r.Set(frames.X86RSP, regs[frames.X86RSP]-8)
	}
	mem := &frames.Snapshot{Stack: frames.Region{Addr: stackAt, Bytes: b}, StackEnd: stackAt + 0x1000}
	var w frames.Walker
	w.Init(s, &r, mem)
	n := 2
	if q.AfterCall {
		n = 3
	}
	for range n {
		if !w.Next() {
			return frames.Regs{}, false
		}
	}
	return *w.Regs(), true
}

type anyCall struct{}

func (anyCall) CallBefore(frames.Addr) (frames.Call, bool) { return frames.Call{}, true }

func (anyCall) FuncStart(frames.Addr) (frames.Addr, bool) { return 0, false }

type innerSource struct{}

func (innerSource) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 8, Method: frames.MethodCFI}, nil, true
}

func TestEveryKindOfCodeUnwindsToItsCaller(t *testing.T) {
	for name, r := range releases {
		t.Run(name, func(t *testing.T) { everyPlace(t, makeFake(r)) })
	}
}

// r13 and rbx can hold the caller's sp.
const (
	spHere    = stackAt + 0x100
	fpHere    = stackAt + 0x180
	r13Here   = stackAt + 0x200
	rbxHere   = stackAt + 0x280
	callersFP = 0x77
)

type place struct {
	name   string
	pc     uint64
	caller bool
	stack  map[uint64]uint64
	sp, fp uint64 // the caller's; sp 0: no rule
}

func words(pairs ...uint64) map[uint64]uint64 {
	out := map[uint64]uint64{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

func returnAt(off uint64) map[uint64]uint64 { return words(spHere+off, callers) }

func recordAt(off uint64) map[uint64]uint64 {
	return words(spHere+off+8, callers, spHere+off, callersFP)
}

var interpreterFrame = words(fpHere, callersFP, fpHere+8, callers, fpHere-8, r13Here)

func everyPlace(t *testing.T, f *fake) {
	places := slices.Concat(methodPlaces(f), onwardPlaces(f), handlesPlaces(f), barrierPlaces(f), stubPlaces(f),
		pushPlaces(f), behindPlaces(f), exceptionPlaces(f), methodEntryPlaces(), bytecodePlaces(), throwPlaces())
	followed := slices.Concat(adapterPlaces(f), knownPlaces())
	v := f.openAnalysed(t)
	for _, p := range slices.Concat(places, followed) {
		t.Run(p.name, func(t *testing.T) { p.check(t, v) })
	}
}

func (p *place) check(t *testing.T, v *VM) {
	t.Helper()
	p.checkWith(t, v, r13Here, rbxHere)
}

func (p *place) checkWith(t *testing.T, v *VM, r13, rbx uint64) {
	t.Helper()
	regs := map[uint8]uint64{
		frames.X86RSP: spHere, frames.X86RBP: fpHere, frames.X86R13: r13, frames.X86RBX: rbx, regR11: spHere,
		frames.X86RAX: callers, frames.X86RSI: callers, frames.X86RDI: callers, frames.X86RDX: callers,
	}
	got, ok := step(t, v, frames.Query{PC: p.pc, AfterCall: p.caller}, regs, p.stack)
	if p.sp == 0 {
		if ok {
			t.Errorf("%#x: a caller at %#x, where none is known", p.pc, got.PC)
		}
		return
	}
	if gotFP, _ := got.Get(frames.X86RBP); !ok || got.PC != callers || got.SP() != p.sp || gotFP != p.fp {
		t.Errorf("%#x: %v pc %#x sp %#x fp %#x, want %#x, %#x, %#x", p.pc, ok, got.PC, got.SP(), gotFP, uint64(callers),
			p.sp, p.fp)
	}
}

func methodPlaces(f *fake) []place {
	method := f.blob("nmethod", 6, 5, methodCode)
	rethrow := f.blob("_rethrow_Java", 4, 0, rethrowCode)
	native := f.blob("native nmethod", 6, 0, nativeCode)
	loop := f.blob("nmethod", 6, 0, loopCode)
	return []place{
		{"a loop's entry", loop + 9, false, returnAt(0), spHere + 8, fpHere},
		{"a loop's entry, further down", loop + 16, false, returnAt(0), spHere + 8, fpHere},
		{"a loop's entry, before the push", loop + 23, false, returnAt(0), spHere + 8, fpHere},
		{"a loop's entry, behind the push", loop + 24, false, recordAt(0), spHere + 16, fpHere},
		{"a loop's entry, with its frame", loop + 31, false, recordAt(32), spHere + 48, fpHere},
		{"a rethrowing stub's frame is about to go", rethrow + 4, false, recordAt(0), spHere + 16, callersFP},
		{"a rethrowing stub's frame is gone", rethrow + 5, false, returnAt(0), spHere + 8, fpHere},
		{"a rethrowing stub has its return address", rethrow + 6, false, nil, spHere, fpHere},
		{"a native method's frame is left", native + 1, false, returnAt(0), spHere + 8, fpHere},
		{"a native method has an exception", native + 9, false, returnAt(0), spHere + 8, fpHere},
		{"a native method's return", native + 15, false, returnAt(0), spHere + 8, fpHere},
		{"a native method's exception is handed on", native + 16, false, returnAt(0), spHere + 8, fpHere},
		{"a method's call", method + 6, true, recordAt(32), spHere + 48, callersFP},
		{"in a method", method + 5, false, recordAt(32), spHere + 48, callersFP},
		{"before the frame goes", method + 6, false, recordAt(32), spHere + 48, callersFP},
		{"before the pop", method + 10, false, recordAt(0), spHere + 16, callersFP},
		{"at the poll", method + 11, false, returnAt(0), spHere + 8, fpHere},
		{"at the jump", method + 18, false, returnAt(0), spHere + 8, fpHere},
		{"at the return", method + 24, false, returnAt(0), spHere + 8, fpHere},
		{"where a method begins", method + 1, false, returnAt(0), 0, 0},
	}
}

func behindPlaces(f *fake) []place {
	bare := f.blob("nmethod", 6, 0, bareCode)
	behind := f.blob("nmethod", 6, 0, behindCode)
	f.put(behind+3, behind+1)
	f.put(behind+25, behind+23)
	far := f.blob("nmethod", 6, 0, behindCode)
	return []place{
		{"an entry that touches nothing", bare + 1, false, returnAt(0), spHere + 8, fpHere},
		{"with the room made", bare + 8, false, returnAt(40), spHere + 48, fpHere},
		{"with rbp stored, too", bare + 13, false, recordAt(32), spHere + 48, fpHere},
		{"a return that stops", behind + 1, false, returnAt(0), spHere + 8, fpHere},
		{"a return that stops, with the address", behind + 11, false, returnAt(0), spHere + 8, fpHere},
		{"a return that stops, at the jump", behind + 18, false, returnAt(0), spHere + 8, fpHere},
		{"a method that is replaced, C1", behind + 23, false, recordAt(32), spHere + 48, callersFP},
		{"a method that is replaced, C1, pushed", behind + 35, false, recordAt(40), spHere + 56, callersFP},
		{"a method that is replaced, C2", behind + 40, false, recordAt(32), spHere + 48, callersFP},
		{"a method that is replaced, C2, pushed", behind + 45, false, recordAt(40), spHere + 56, callersFP},
		{"a method that is replaced, C2, at the jump", behind + 50, false, recordAt(40), spHere + 56, callersFP},
		{"no poll of this method", far + 1, false, recordAt(32), spHere + 48, callersFP},
	}
}

func pushPlaces(f *fake) []place {
	pushes := f.blob("nmethod", 6, 0, pushCode)
	return []place{
		{"a call with two words pushed", pushes + 8, true, recordAt(48), spHere + 64, callersFP},
		{"before that call", pushes + 3, false, recordAt(48), spHere + 64, callersFP},
		{"before the second push", pushes + 1, false, recordAt(40), spHere + 56, callersFP},
		{"before the first push", pushes, false, recordAt(32), spHere + 48, callersFP},
	}
}

func stubPlaces(f *fake) []place {
	stub := f.blob("vtable chunks", 0, 0, []byte{0x90, 0x90})
	deopt := f.blob("DeoptimizationBlob", 80, 0, []byte{0x90, 0x90, 0x90, 0x90})
	stubs := f.blob("unwind_exception Runtime1 stub", -1, 0, forwardCode)
	replaced := words(fpHere+8, callers, fpHere, callersFP)
	return []place{
		{"a virtual call's stub", stub + 1, false, returnAt(0), spHere + 8, fpHere},
		{"a frame that is being replaced", deopt + 2, true, replaced, fpHere + 16, callersFP},
		{"before it is", deopt + 2, false, replaced, 0, 0},
		{"an exception handed on, aligned", stubs + 1, true, returnAt(8), spHere + 16, fpHere},
		{"an exception handed on", stubs + 15, true, returnAt(0), spHere + 8, fpHere},
		{"another stub's call", stubs + 24, true, returnAt(0), 0, 0},
	}
}

func exceptionPlaces(f *fake) []place {
	exception := f.blob("ExceptionBlob", 2, -1, exceptionCode)
	return []place{
		{"an exception", exception, false, nil, spHere, fpHere},
		{"an exception's address pushed", exception + 1, false, returnAt(0), spHere + 8, fpHere},
		{"an exception, room for rbp", exception + 5, false, returnAt(8), spHere + 16, fpHere},
		{"an exception's handler is looked for", exception + 9, true, recordAt(0), spHere + 16, callersFP},
		{"an exception's handler is found", exception + 14, false, recordAt(0), spHere + 16, callersFP},
		{"an exception's frame is gone", exception + 18, false, returnAt(0), spHere + 8, fpHere},
		{"an exception's address is back", exception + 19, false, nil, spHere, fpHere},
	}
}

func adapterPlaces(f *fake) []place {
	old := f.blob("I2C/C2I adapters", 0, 0, adapterCode)
	into := old + uint64(len(toCompiled)+len(unverified)+len(fixupCode))
	now := f.blob("I2C/C2I adapters", 0, 0, adapterCode21)
	barrier := now + uint64(len(toCompiled21)+len(unverified))
	fix := barrier + uint64(len(barrierCode))
	into21 := fix + uint64(len(fixupCode))
	kept := words(r13Here, callers)
	return []place{
		{"into compiled code", old + 7, false, returnAt(0), spHere + 8, fpHere},
		{"with room for arguments", old + 11, false, returnAt(32), spHere + 40, fpHere},
		{"aligned", old + 15, false, words(spHere, callers), spHere + 8, fpHere},
		{"on the way", old + 16, false, returnAt(0), spHere + 8, fpHere},
		{"into compiled code, JDK 21", now + 3, false, returnAt(0), spHere + 8, fpHere},
		{"JDK 21, with the address taken", now + 4, false, nil, spHere, fpHere},
		{"JDK 21, with room for arguments", now + 8, false, nil, spHere + 8, fpHere},
		{"JDK 21, aligned", now + 12, false, nil, spHere + 8, fpHere},
		{"JDK 21, on the way", now + 13, false, returnAt(0), spHere + 8, fpHere},
		{"JDK 21, at the jump", now + 20, false, returnAt(0), spHere + 8, fpHere},
		{"of an unverified call", now + uint64(len(toCompiled21)), false, returnAt(0), spHere + 8, fpHere},
		{"a collector's barrier", barrier + 12, false, returnAt(208), spHere + 216, fpHere},
		{"that barrier's call", barrier + 21, true, returnAt(208), spHere + 216, fpHere},
		{"behind the barrier", fix, false, returnAt(0), spHere + 8, fpHere},
		{"a caller that is mended, aligned", fix + 18, false, kept, r13Here + 8, fpHere},
		{"the call for that", fix + 24, true, kept, r13Here + 8, fpHere},
		{"a caller was mended", into21, false, returnAt(0), spHere + 8, fpHere},
		{"into the interpreter", into, false, returnAt(0), spHere + 8, fpHere},
		{"with the address taken", into + 1, false, nil, spHere, fpHere},
		{"with sp kept", into + 4, false, nil, spHere, fpHere},
		{"with room", into + 8, false, nil, spHere + 16, fpHere},
		{"with it put back", into + 12, false, returnAt(0), spHere + 16, fpHere},
		{"JDK 21, sp kept", into21 + 5, false, returnAt(0), spHere + 8, fpHere},
		{"JDK 21, taken", into21 + 6, false, nil, spHere, fpHere},
		{"JDK 21, room", into21 + 10, false, nil, spHere + 16, fpHere},
		{"JDK 21, put back", into21 + 11, false, returnAt(0), spHere + 24, fpHere},
		{"JDK 21, on to the interpreter", into21 + 16, false, returnAt(0), spHere + 24, fpHere},
		{"within an instruction", now + 1, false, returnAt(0), 0, 0},
	}
}

func onwardPlaces(f *fake) []place {
	buffer := f.blob("InlineCacheBuffer", 0, 0, []byte{0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, opJump, 0, 1, 0, 0})
	// ret; mov rbx, imm64; jmp elsewhere; nops
	onward := []byte{opRet, 0x48, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, opJump, 0, 0x10, 0, 0}
	method := f.blob("nmethod", 6, 0, slices.Concat(onward, make([]byte, 20)))
	stub := f.blob("resolve_static_call", 6, 0, slices.Concat([]byte{opPopRBP, 0xff, 0xe0}, make([]byte, 20)))
	return []place{
		{"a call's target with something in rax", buffer, false, returnAt(0), spHere + 8, fpHere},
		{"behind a method, on to the interpreter", method + 1, false, returnAt(0), spHere + 8, fpHere},
		{"at that jump", method + 11, false, returnAt(0), spHere + 8, fpHere},
		{"before a stub goes on", stub, false, recordAt(0), spHere + 16, callersFP},
		{"where a stub goes on", stub + 1, false, returnAt(0), spHere + 8, fpHere},
	}
}

func barrierPlaces(f *fake) []place {
	call := []byte{0x90, opCall, 0, 0, 0, 0, 0x90}
	refused := slices.Concat(restoresAll, restoredAll, []byte{opPop | 7, opLeave, 0x90})
	code := slices.Concat([]byte{0x90}, barrierBegins, call, barrierEnds, refused, make([]byte, 8))
	barrier := f.blob("StubRoutines (final stubs)", 0, 0, code) + 1
	ends := barrier + uint64(len(barrierBegins)) + 7
	framed := words(fpHere, callersFP, fpHere+16, callers)
	pushed := words(spHere, callersFP, spHere+16, callers)
	return []place{
		{"a barrier", barrier, false, returnAt(0), spHere + 8, fpHere},
		{"a barrier with its mark", barrier + 5, false, returnAt(8), spHere + 16, fpHere},
		{"a barrier with rbp pushed", barrier + 6, false, pushed, spHere + 24, callersFP},
		{"a barrier's frame", barrier + 9, false, framed, fpHere + 24, callersFP},
		{"a barrier's call", barrier + 15, true, framed, fpHere + 24, callersFP},
		{"a barrier's frame, gone", ends + 1, false, returnAt(8), spHere + 16, fpHere},
		{"a barrier's return", ends + 5, false, returnAt(0), spHere + 8, fpHere},
		{"a barrier that refuses", ends + 6, false, framed, fpHere + 24, callersFP},
		{"before that leaves", ends + 5 + uint64(len(refused)) - 1, false, framed, fpHere + 24, callersFP},
	}
}

func handlesPlaces(f *fake) []place {
	handles := f.blob("MethodHandles adapters", 0, 0, []byte{0x90, 0x90, opPop, 0x5b, opPush, 0x90, 0x90})
	return []place{
		{"a method handle", handles + 2, false, returnAt(0), r13Here, fpHere},
		{"with the address taken, to take an argument", handles + 3, false, nil, r13Here, fpHere},
		{"with the argument taken", handles + 4, false, nil, r13Here, fpHere},
		{"with the address put back", handles + 5, false, returnAt(0), r13Here, fpHere},
	}
}

const (
	codeletHead = 32
	entryAt     = codeAt + 96 + codeletHead
)

// When the return address is popped, the caller's sp is a word lower.
func TestLinkedMethodsLeadToTheirCaller(t *testing.T) {
	f := newFake()
	handles := f.blob("MethodHandles adapters", 0, 0, []byte{0x90, 0x90, opPop, 0x5b, opPush, 0x90, 0x90})
	v := f.openAnalysed(t)
	template := entryAt + uint64(len(entryCode)) + codeletHead
	known := template + uint64(len(returnCode)) + codeletHead
	for _, p := range []place{
		{"the argument is taken", handles + 4, false, nil, spHere, fpHere},
		{"a method begins, the return address in rax", entryAt + 10, false, nil, spHere, fpHere},
		{"a method's frame is gone, the return address taken", template + 12, false, nil, spHere, fpHere},
		{"a known method ends", known + 29, false, nil, spHere, fpHere},
	} {
		t.Run(p.name, func(t *testing.T) { p.checkWith(t, v, spHere-8, spHere-8) })
		p.sp = 0
		t.Run(p.name+", no such stack pointer", func(t *testing.T) { p.checkWith(t, v, spHere-16, spHere-16) })
	}
}

func knownPlaces() []place {
	known := entryAt + uint64(len(entryCode)+codeletHead+len(returnCode)+codeletHead)
	return []place{
		{"a method that is known", known + 2, false, returnAt(0), r13Here, fpHere},
		{"with sp aligned", known + 12, false, returnAt(8), r13Here, fpHere},
		{"behind that", known + 21, false, returnAt(0), r13Here, fpHere},
		{"its call, a compiled caller", known + 28, true, words(spHere, callers), 0, 0},
		{"its end", known + 28, false, returnAt(0), r13Here, fpHere},
	}
}

func TestCallOfAKnownMethodLeadsToTheInterpreter(t *testing.T) {
	f := newFake()
	v := f.openAnalysed(t)
	known := entryAt + uint64(len(entryCode)+codeletHead+len(returnCode)+codeletHead)
	native := known + uint64(len(knownCode)+codeletHead)
	regs := map[uint8]uint64{frames.X86RSP: spHere, frames.X86RBP: fpHere}
	const inside = entryAt + 3
	for ret, above := range map[uint64]uint64{known + 17: 8, known + 28: 0, native + 17: 8, native + 28: 0} {
		got, ok := step(t, v, frames.Query{PC: ret, AfterCall: true}, regs, words(spHere, inside+1, spHere+above, inside))
		if !ok || got.PC != inside || got.SP() != spHere+above+8 {
			t.Errorf("%#x: %v, pc %#x sp %#x", ret-known, ok, got.PC, got.SP())
		}
	}
}

func methodEntryPlaces() []place {
	return []place{
		{"where an interpreted method begins", entryAt, false, returnAt(0), r13Here, fpHere},
		{"with the return address in rax", entryAt + 10, false, nil, r13Here, fpHere},
		{"before it is pushed", entryAt + 12, false, nil, r13Here, fpHere},
		{"when it is pushed", entryAt + 13, false, returnAt(0), r13Here, fpHere},
		{"with rbp pushed", entryAt + 14, false, words(spHere+8, callers, spHere, fpHere), r13Here, fpHere},
		{"with rbp set", entryAt + 17, false, words(fpHere, callersFP, fpHere+8, callers), r13Here, callersFP},
		{"with the frame made", entryAt + 19, false, interpreterFrame, r13Here, callersFP},
	}
}

func throwPlaces() []place {
	throws := entryAt + uint64(2*len(entryCode)+len(returnCode)+2*len(knownCode)+4*codeletHead)
	return []place{
		{"an exception ends a frame", throws + 4, false, interpreterFrame, r13Here, callersFP},
		{"behind leave, for an exception", throws + 5, false, returnAt(0), rbxHere, fpHere},
		{"behind leave and pop, for an exception", throws + 6, false, nil, rbxHere, fpHere},
		{"while rdx has the return address", throws + 9, false, nil, spHere, fpHere},
		{"with a word pushed", throws + 17, false, nil, spHere + 8, fpHere},
		{"with both pushed", throws + 18, false, returnAt(0), spHere + 16, fpHere},
		{"at the call with sp aligned", throws + 40, false, returnAt(8), spHere + 24, fpHere},
		{"the call with sp aligned", throws + 45, true, returnAt(8), spHere + 24, fpHere},
		{"the call", throws + 59, true, returnAt(0), spHere + 16, fpHere},
		{"behind the pop of rdx", throws + 63, false, nil, spHere + 8, fpHere},
		{"at the jump to the handler", throws + 64, false, nil, spHere, fpHere},
	}
}

func bytecodePlaces() []place {
	template := entryAt + uint64(len(entryCode)) + codeletHead
	return []place{
		{"the interpreter's call", template + 3, true, interpreterFrame, r13Here, callersFP},
		{"in a bytecode", template + 4, false, interpreterFrame, r13Here, callersFP},
		{"behind leave", template + 11, false, returnAt(0), rbxHere, fpHere},
		{"behind leave and pop", template + 12, false, nil, rbxHere, fpHere},
		{"at the jump back", template + 15, false, nil, spHere, fpHere},
	}
}
