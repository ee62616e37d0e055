// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/languages"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

type replacing struct {
	memory
	reads *int
	later []byte
}

func (r replacing) Read(addr uint64, b []byte) int {
	if *r.reads--; *r.reads == 0 {
		copy(r.b, r.later)
	}
	return r.memory.Read(addr, b)
}

const (
	mapOfSFI, mapOfBytecodes, mapOfCode, mapOfString, mapOfFunction = 0x40, 0x60, 0x80, 0xa0, 0xc0
	sfiA, sfiB, bytecodesA, bytecodesB, stringA, stringB            = 0x800, 0x880, 0x900, 0xa00, 0xb00, 0xb40
	closureA, scriptA, stringFile, mapOfScript                      = 0xc00, 0xe00, 0xe80, 0xe0
)

func pointer(at int) uint64 { return fakeAt + uint64(at) + heapObjectTag }

func put(b []byte, at int, w uint64) { binary.LittleEndian.PutUint64(b[at:], w) }

func fakeFunctions(r *Runtime, b []byte) {
	put(b, 0, pointer(0))
	binary.LittleEndian.PutUint16(b[instanceType:], fakeMap)
	for at, typ := range map[int]uint16{
		mapOfSFI: fakeSFI, mapOfBytecodes: fakeBytecodes, mapOfCode: fakeCode, mapOfString: oneByteString,
		mapOfFunction: fakeFunction, mapOfScript: fakeScript,
	} {
		put(b, at, pointer(0))
		binary.LittleEndian.PutUint16(b[at+instanceType:], typ)
	}
	fakeInfo(r, b, sfiA, 5, stringA, bytecodesA)
	fakeInfo(r, b, sfiB, 6, stringB, bytecodesB)
	fakeString(b, stringA, "a")
	fakeString(b, stringB, "b")
	fakeString(b, stringFile, "a.js")
	put(b, scriptA, pointer(mapOfScript))
	put(b, scriptA+int(r.heap.build.scriptID), 3<<32)
	put(b, scriptA+int(r.heap.build.scriptName), pointer(stringFile))
	put(b, bytecodesA, pointer(mapOfBytecodes))
	put(b, bytecodesB, pointer(mapOfBytecodes))
	put(b, closureA, pointer(mapOfFunction))
	put(b, closureA+int(r.heap.build.jsShared), pointer(sfiA))
}

func fakeInfo(r *Runtime, b []byte, at int, literal uint64, name, bytecodes int) {
	put(b, at, pointer(mapOfSFI))
	put(b, at+int(r.heap.build.sfiFlags), literal<<32)
	put(b, at+int(r.heap.build.sfiName), pointer(name))
	put(b, at+int(r.heap.build.sfiScript), pointer(scriptA))
	put(b, at+int(r.heap.build.sfiData), pointer(bytecodes))
}

func fakeString(b []byte, at int, text string) {
	put(b, at, pointer(mapOfString))
	binary.LittleEndian.PutUint32(b[at+stringLength:], uint32(len(text)))
	copy(b[at+stringData:], text)
}

func fakeBaseline(r *Runtime, b []byte, bytecodes int) (start uint64) {
	const stream, codeAt = 0x1000, 0x400
	start = compilation(r, b, stream, codeAt, bytecodes, 0)
	fakeFunctions(r, b)
	put(b, codeAt, pointer(mapOfCode))
	binary.LittleEndian.PutUint32(b[codeAt+int(r.heap.build.codeSize):], 0x100)
	for kind, name := range r.heap.build.kinds {
		if name == kindBaseline {
			b[codeAt+int(r.heap.build.codeFlags)] = byte(kind)
		}
	}
	return start
}

func TestFunctionReplacedDuringItsReadingHasNoName(t *testing.T) {
	for _, v := range []version{{9, 4}, {12, 4}, {14, 6}} {
		for after := 1; ; after++ {
			b := make([]byte, 0x2000)
			r := fakeRuntime(v, b)
			fakeFunctions(r, b)
			later := append([]byte(nil), b...)
			fakeInfo(r, later, sfiA, 7, stringB, bytecodesB)
			fakeString(later, stringA, "c")
			reads := after
			r.heap.live, r.functions.copiedAt = replacing{memory{fakeAt, b}, &reads, later}, 0
			f := r.functions.functionOf(pointer(sfiA))
			if f != nil {
				want := function{literal: 5, naming: naming{name: "a"}, bytecodes: pointer(bytecodesA)}
				if f.literal == 7 {
					want = function{literal: 7, naming: naming{name: "b"}, bytecodes: pointer(bytecodesB)}
				}
				if f.literal != want.literal || f.naming.name != want.naming.name || f.bytecodes != want.bytecodes {
					t.Errorf("V8 %v, replaced at read %d: function %d is %s with bytecodes at %#x", v, after, f.literal, f.naming.name,
						f.bytecodes)
				}
			}
			if reads > 0 {
				break
			}
		}
	}
}

func TestFunctionReplacedWhileItsNameIsReadAgainKeepsItsName(t *testing.T) {
	for after := 1; ; after++ {
		b := make([]byte, 0x2000)
		r := fakeRuntime(version{14, 6}, b)
		fakeFunctions(r, b)
		later := append([]byte(nil), b...)
		fakeInfo(r, later, sfiA, 7, stringB, bytecodesB)
		fakeString(later, stringA, "c")
		r.heap.live, r.functions.copiedAt = memory{fakeAt, b}, 0
		f := r.functions.functionOf(pointer(sfiA))
		reads := after
		r.heap.live = replacing{memory{fakeAt, b}, &reads, later}
		if got := r.frame(f, atEntry, true, "").Function; got != "a" {
			t.Errorf("replaced at read %d: the function is %q, want a", after, got)
		}
		if reads > 0 {
			break
		}
	}
}

func TestBaselineCodeReplacedAfterTheCopyHasNotTheNameOfTheLaterFunction(t *testing.T) {
	const stack, fp = 0x900000, 0x900100
	for _, entered := range []bool{true, false} {
		b := make([]byte, 0x2000)
		r := fakeRuntime(version{14, 6}, b)
		start := fakeBaseline(r, b, bytecodesA)
		r.functions.copiedAt = 0
		if f := r.functions.functionOf(pointer(sfiB)); f == nil || f.naming.name != "b" {
			t.Fatalf("function b is read as %+v", f)
		}
		words := make([]byte, 0x200)
		put(words, fp-stack+8, 1)
		put(words, fp-stack-fpContext, pointer(closureA))
		put(words, fp-stack+int(r.heap.build.fpFunction), pointer(closureA))
		put(words, fp-stack+int(r.heap.build.fpBytecodes), pointer(bytecodesA))
		regs := &frames.Regs{Arch: frames.X86_64}
		regs.Set(frames.X86RDI, pointer(closureA))
		frame, cfa := &frames.Frame{PC: start + 8, FP: fp, SP: stack}, uint64(fp+16)
		if !entered {
			cfa = stack + 8
		}
		name := func() string {
			r.heap.live = memory{fakeAt, b}
			r.Begin(&managed.Sample{Regs: regs, Mem: &frames.Snapshot{Stack: frames.Region{Addr: stack, Bytes: words},
				StackEnd: stack + uint64(len(words))}, At: procmem.Now(), Live: r.heap.live})
			refs, _ := r.appendCompiled(frame, cfa, nil)
			if len(refs) != 1 {
				t.Fatalf("the frame has %+v; want baseline code", refs)
			}
			out, _ := r.Symbolize(refs[0], r.heap.live, nil)
			if len(out) == 0 {
				return ""
			}
			return out[0].Function
		}
		if got := name(); got != "a" {
			t.Errorf("entered: %v: the frame is %q, want a", entered, got)
		}
		fakeBaseline(r, b, bytecodesB) // the collector has moved b's code here
		put(b, closureA, 0)            // and the closure elsewhere
		if got := name(); got == "b" {
			t.Errorf("entered: %v: the frame of a is named b", entered)
		}
	}
}

func TestJavaScriptsFrameInCodeThatIsLaterARegularExpressionsIsMoved(t *testing.T) {
	const stack, fp = 0x900000, 0x900100
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{14, 6}, b)
	start := fakeBaseline(r, b, bytecodesA)
	b[0x400+int(r.heap.build.codeFlags)] = byte(slices.Index(r.heap.build.kinds[:], kindRegExp))
	words := make([]byte, 0x200)
	refOf := func(context, closure, sp, cfa uint64, at int64) managed.Ref {
		put(words, fp-stack-fpContext, context)
		put(words, fp-stack+int(r.heap.build.fpFunction), closure)
		r.Begin(&managed.Sample{Mem: &frames.Snapshot{Stack: frames.Region{Addr: stack, Bytes: words},
			StackEnd: stack + uint64(len(words))}, At: at, Live: r.heap.live})
		m := &frames.Module{Generated: true, Start: fakeAt}
		refs, _ := r.appendCompiled(&frames.Frame{PC: start + 8, FP: fp, SP: sp, Module: m}, cfa, nil)
		if len(refs) != 1 {
			t.Fatalf("the frame has %+v; want one reference", refs)
		}
		return refs[0]
	}
	const typeOfRegExp = 2 * 30
	for _, c := range []struct {
		what                      string
		context, closure, sp, cfa uint64
		later                     bool
		want                      uint8
	}{
		{"JavaScript's frame, code read after the copy", pointer(0), pointer(closureA), stack, fp + 16, true, refUnproven},
		{"beginning frame, code read after the copy", 0, 0, stack, stack + 8, true, refUnproven},
		{"frame without its slots, code read after the copy", 0, 0, fp, fp + 16, true, refUnproven},
		{"regular expression's frame, code read after the copy", typeOfRegExp, 1, stack, fp + 16, true, refRegExp},
		{"beginning frame, code read before the copy", 0, 0, stack, stack + 8, false, refRegExp},
	} {
		r.Forget()
		at := procmem.Now()
		if !c.later {
			r.functions.copiedAt = 0
			r.codes.codeAt(start + 8)
			at = procmem.Now() + 1
		}
		if got := refOf(c.context, c.closure, c.sp, c.cfa, at).Kind; got != c.want {
			t.Errorf("%s: kind %d, want %d", c.what, got, c.want)
		}
	}
}

func callerInBaseline(t *testing.T, sizes []byte) (r *Runtime, ref managed.Ref) {
	t.Helper()
	b := make([]byte, 0x2000)
	r = fakeRuntime(version{14, 6}, b)
	start := fakeBaseline(r, b, bytecodesA)
	known := *r.heap.build
	known.sizes = sizes
	const stack, fp = 0x900000, 0x900100
	words := make([]byte, 0x200)
	put(words, fp-stack+8, 1)
	put(words, fp-stack-fpContext, pointer(closureA))
	put(words, fp-stack+int(r.heap.build.fpFunction), pointer(closureA))
	put(words, fp-stack+int(r.heap.build.fpBytecodes), pointer(bytecodesA))
	r.heap.build, r.heap.live = &known, memory{fakeAt, b}
	r.Begin(&managed.Sample{Regs: &frames.Regs{Arch: frames.X86_64}, Mem: &frames.Snapshot{
		Stack: frames.Region{Addr: stack, Bytes: words}, StackEnd: stack + uint64(len(words))}, At: procmem.Now(),
		Live: r.heap.live})
	refs, _ := r.appendCompiled(&frames.Frame{PC: start + 8, FP: fp, SP: stack, AfterCall: true}, fp+16, nil)
	if len(refs) != 1 {
		t.Fatalf("the frame has %+v, want one function", refs)
	}
	f := r.functions.byInfo[pointer(sfiA)]
	f.script = &script{id: 3, name: "a.js", ends: []int32{9, 19, 29, 39}}
	f.naming.begin, f.naming.start = 11, 2
	f.positions = []byte{(0 + 1) << 2, 2 * 2 * (21 + 1)} // bytecode 0: offset 21, in line 3
	return r, refs[0]
}

// The caller's bytecodes are unreadable.
func TestCallerInBaselineCodeWithoutItsTablesHasNoName(t *testing.T) {
	if _, ref := callerInBaseline(t, make([]byte, 3*20)); ref != unprovenRef {
		t.Errorf("the frame has %+v, want one without a name", ref)
	}
}

// Only the function is known without the table of bytecode sizes.
func TestCallerInBaselineCodeWithoutBytecodeSizesHasNoLine(t *testing.T) {
	r, ref := callerInBaseline(t, nil)
	out, _ := r.Symbolize(ref, r.heap.live, nil)
	if len(out) != 1 || out[0].Function != "a" || out[0].StartLine != 2 || out[0].Line != 0 {
		t.Errorf("the frame is %+v, want function a, from line 2, without a line", out)
	}
}

func TestOptimizedCodeThatWasReplacedAtItsStartIsFreed(t *testing.T) {
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{12, 4}, b)
	const stream, codeAt, deopt, info = 0x1000, 0x400, 0x600, 0x800
	const mapOfInfo, mapOfCode = 0x40, 0x60
	for at, typ := range map[int]uint16{mapOfInfo: fakeSFI, mapOfCode: fakeCode} {
		put(b, at, fakeAt+heapObjectTag)
		binary.LittleEndian.PutUint16(b[at+instanceType:], typ)
	}
	put(b, info, fakeAt+mapOfInfo+heapObjectTag)
	put(b, codeAt, fakeAt+mapOfCode+heapObjectTag)
	compile := func(number uint64) uint64 {
		start := compilation(r, b, stream, codeAt, deopt, number)
		put(b, deopt, fakeAt+heapObjectTag)
		put(b, deopt+16+8*r.heap.build.shared, fakeAt+info+heapObjectTag)
		binary.LittleEndian.PutUint32(b[codeAt+int(r.heap.build.codeSize):], 0x100)
		return start
	}
	symbolize := func(ref managed.Ref) managed.Certainty {
		_, truth := r.Symbolize(ref, r.heap.live, nil)
		return truth
	}

	start := compile(7)
	if c := r.codes.codeAt(start + 8); c == nil || c.function == nil {
		t.Fatalf("the code is read as %+v, want code of a function", c)
	}
	r.functions.copiedAt = procmem.Now()
	refs, ok := r.appendCompiled(&frames.Frame{PC: start + 8}, 0, nil)
	if !ok || len(refs) != 1 || refs[0].Kind != refOptimized {
		t.Fatalf("the frame has %+v, %v; want optimized code", refs, ok)
	}
	if truth := symbolize(refs[0]); truth != managed.Checked {
		t.Errorf("unchanged code: truth %v, want %v", truth, managed.Checked)
	}
	compile(8)
	r.codes.byStart = r.codes.byStart[:0]
	if truth := symbolize(refs[0]); truth != managed.Freed {
		t.Errorf("code of a later compilation: truth %v, want %v", truth, managed.Freed)
	}
}

// The collector may move the script's name while it is read.
func TestFunctionWhoseScriptWasUnreadableIsReadAgain(t *testing.T) {
	const codeAt, deopt = 0x400, 0x600
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{14, 6}, b)
	fakeFunctions(r, b)
	start := compilation(r, b, 0x1000, codeAt, deopt, 7)
	put(b, codeAt, pointer(mapOfCode))
	binary.LittleEndian.PutUint32(b[codeAt+int(r.heap.build.codeSize):], 0x100)
	put(b, deopt, pointer(0))
	put(b, deopt+16+8*r.heap.build.shared, pointer(sfiA))

	put(b, scriptA, 0)
	if f := r.functions.functionOf(pointer(sfiB)); f != nil {
		t.Errorf("without its script: function %q of %+v, want none", f.naming.name, f.script)
	}
	put(b, sfiB+int(r.heap.build.sfiData), 0)
	if f := r.functions.functionOf(pointer(sfiB)); f == nil || r.functions.isProven(f) {
		t.Errorf("function %+v, whose script is unknown, is proven", f)
	}
	put(b, sfiB+int(r.heap.build.sfiData), pointer(bytecodesB))
	if c := r.codes.codeAt(start + 8); c == nil || c.function != nil {
		t.Errorf("without the script: code %+v, want one without function", c)
	}
	put(b, scriptA, pointer(mapOfScript))
	r.functions.copiedAt = procmem.Now() // the next walk's
	if f := r.functions.functionOf(pointer(sfiB)); f == nil || f.script == nil || f.script.name != "a.js" {
		t.Errorf("function %+v, want one of a.js", f)
	}
	c := r.codes.codeAt(start + 8)
	if c == nil || c.function == nil || c.function.script == nil || c.function.naming.name != "a" {
		t.Errorf("code %+v, want a's", c)
	}
}

func TestScriptWhoseNameWasUnreadableIsReadAgain(t *testing.T) {
	for what, at := range map[string]func(r *Runtime) int{
		"the name":                func(*Runtime) int { return stringFile },
		"the script's later part": func(r *Runtime) int { return scriptA + int(r.heap.build.scriptName) },
	} {
		b := make([]byte, 0x2000)
		r := fakeRuntime(version{14, 6}, b)
		fakeFunctions(r, b)
		word := binary.LittleEndian.Uint64(b[at(r):])
		put(b, at(r), 0)
		if f := r.functions.functionOf(pointer(sfiB)); f != nil {
			t.Errorf("without %s: function %q of %q, want none", what, f.naming.name, f.script.name)
		}
		put(b, at(r), word)
		if f := r.functions.functionOf(pointer(sfiB)); f == nil || f.script == nil || f.script.name != "a.js" {
			t.Errorf("%s was unreadable: function %+v, want one of a.js", what, f)
		}
	}
}

// The type of such a string is 0.
func TestFunctionWithATwoByteNameHasIt(t *testing.T) {
	const mapOfWide = 0x100
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{14, 6}, b)
	fakeFunctions(r, b)
	put(b, mapOfWide, pointer(0))
	fakeString(b, stringB, "\x36\x04")
	put(b, stringB, pointer(mapOfWide))
	b[stringB+stringLength] = 1
	if f := r.functions.functionOf(pointer(sfiB)); f == nil || f.naming.name != "ж" {
		t.Errorf("function %+v, want ж", f)
	}
}

// The collector may move an inlined function while its code is read.
func TestInlinedCallThatWasNotReadIsMovedAndReadAgain(t *testing.T) {
	const codeAt, literals, inlining, positions = 0x400, 0xd00, 0xd40, 0xd80
	b := make([]byte, 0x2000)
	r := fakeRuntime(version{12, 4}, b)
	fakeFunctions(r, b)
	for at, length := range map[int]uint64{literals: 1, inlining: 16, positions: 10} {
		put(b, at, pointer(mapOfBytecodes))
		put(b, at+8, length<<32)
	}
	put(b, literals+16, pointer(sfiB))
	inFirstCall := binary.AppendUvarint([]byte{0}, 2<<31) // from place 0 on: both with the sign in the lowest bit
	copy(b[positions+16:], inFirstCall)
	put(b, positions+8, uint64(len(inFirstCall))<<32)

	start := compilation(r, b, 0x1000, codeAt, 0x600, 7)
	put(b, codeAt, pointer(mapOfCode))
	put(b, codeAt+int(r.heap.build.codePositions), pointer(positions))
	binary.LittleEndian.PutUint32(b[codeAt+int(r.heap.build.codeSize):], 0x100)
	put(b, 0x600, pointer(0))
	data := func(i int) int { return 0x600 + 16 + 8*i }
	put(b, data(r.heap.build.shared), pointer(sfiA))
	put(b, data(r.heap.build.literals), pointer(literals))
	put(b, data(r.heap.build.inlining), pointer(inlining))

	names := func() (names []string) {
		c := r.codes.codeAt(start + 8)
		if c == nil || c.function == nil {
			t.Fatalf("the code is read as %+v, want code of a function", c)
		}
		for _, f := range r.appendOptimized(c, 8, nil) {
			names = append(names, f.Function)
		}
		return names
	}
	put(b, sfiB, 0)
	if got := names(); !slices.Equal(got, []string{languages.MovedFunction, "a"}) {
		t.Errorf("calls %q, want a moved one in a", got)
	}
	put(b, sfiB, pointer(mapOfSFI))
	if got := names(); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("calls %q, want b in a", got)
	}
	put(b, inlining+8, 0)
	r.codes.byStart = r.codes.byStart[:0]
	if got := names(); !slices.Equal(got, []string{languages.MovedFunction, "a"}) {
		t.Errorf("without the table of calls: %q, want a moved one in a", got)
	}
}

// compilation writes TurboFan code with a number.
func compilation(r *Runtime, b []byte, stream, code, deopt int, number uint64) uint64 {
	put := func(at int, w uint64) { binary.LittleEndian.PutUint64(b[at:], w) }
	put(0, fakeAt+heapObjectTag)
	binary.LittleEndian.PutUint16(b[instanceType:], fakeMap)
	put(0x20, fakeAt+heapObjectTag)
	binary.LittleEndian.PutUint16(b[0x20+instanceType:], fakeStream)
	start := fakeAt + uint64(stream) + r.heap.build.headerSize
	put(stream, fakeAt+0x20+heapObjectTag)
	put(stream+8, fakeAt+uint64(code)+heapObjectTag)
	put(code+int(r.heap.build.codeStart), start)
	put(code+int(r.heap.build.codeDeopt), fakeAt+uint64(deopt)+heapObjectTag)
	for kind, name := range r.heap.build.kinds {
		if name == "turbofan" {
			b[code+int(r.heap.build.codeFlags)] = byte(kind)
		}
	}
	put(deopt+16+8*(r.heap.build.shared-optimizedID), number<<32)
	return start
}
