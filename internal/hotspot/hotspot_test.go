package hotspot

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
)

// Where things lie in the virtual machine of these tests.
const (
	symbolsAt = 0x1000
	tableAt   = 0x2000
	stringsAt = 0x8000
	staticsAt = 0xa000
	heapAt    = 0xb000
	segmapAt  = 0x10000
	codeAt    = 0x20000
	codeEnd   = 0x30000
	stubsAt   = 0x40000
	memEnd    = 0x50000
	stride    = 40 // of the table
)

// fake is the memory of a process with a virtual machine that describes itself, as JDK 17 does, with other offsets.
type fake struct {
	mem     []byte
	symbols map[string]uint64
	strings uint64
	fields  map[string]uint64
	next    uint64   // the next block
	wanted  []string // the fields of the table
	newer   bool     // the code's bounds are distances
}

func (f *fake) put(addr, v uint64)         { binary.LittleEndian.PutUint64(f.mem[addr:], v) }
func (f *fake) put32(addr uint64, v int32) { binary.LittleEndian.PutUint32(f.mem[addr:], uint32(v)) }

func (f *fake) text(s string) uint64 {
	at := f.strings
	f.strings += uint64(copy(f.mem[at:], s)) + 1
	return at
}

func (f *fake) read(addr uint64, b []byte) int {
	if addr >= uint64(len(f.mem)) {
		return 0
	}
	return copy(b, f.mem[addr:])
}

func (f *fake) symbol(name string) (uint64, bool) {
	v, ok := f.symbols[name]
	return v, ok
}

// newFake makes it, with one heap of code in segments of 128 bytes, and an interpreter of two pieces.
func newFake() *fake { return makeFake(false) }

// makeFake is newFake for one that gives the bounds of code as distances, too, as JDK 25 does.
func makeFake(newer bool) *fake {
	f := &fake{mem: make([]byte, memEnd), symbols: map[string]uint64{}, strings: stringsAt, fields: map[string]uint64{}, next: codeAt, newer: newer}
	if f.wanted = slices.Concat(want, wantAddresses); newer {
		f.wanted = slices.Concat(want, wantDistances)
	}
	at := uint64(symbolsAt)
	for name, v := range map[string]uint64{
		"StructEntryTypeNameOffset": 0, "StructEntryFieldNameOffset": 8, "StructEntryOffsetOffset": 16, "StructEntryAddressOffset": 24,
		"StructEntryTypeStringOffset": 32, "StructEntryArrayStride": stride, "Structs": tableAt,
		"TypeEntryTypeNameOffset": 0, "TypeEntrySizeOffset": 8, "TypeEntryArrayStride": 16, "Types": tableAt + 0x3000,
	} {
		f.symbols["gHotSpotVM"+name] = at
		f.put(at, v)
		at += 8
	}
	kind := f.text("int")
	for i, name := range slices.Concat([]string{"Other::field"}, f.wanted) {
		typ, field, _ := cutLast(name)
		entry := uint64(tableAt + stride*i)
		f.put(entry, f.text(typ))
		f.put(entry+8, f.text(field))
		f.fields[name] = uint64(8 * (i % 12))
		f.put(entry+16, f.fields[name])
		f.put(entry+32, kind)
		if newer && name == "CodeBlob::_frame_complete_offset" {
			f.put(entry+32, f.text("int16_t"))
		}
	}
	f.static("CodeCache::_heaps", staticsAt)
	f.static("AbstractInterpreter::_code", staticsAt+8)
	for i, name := range wantSizes {
		entry := uint64(tableAt + 0x3000 + 16*i)
		f.put(entry, f.text(name))
		f.put(entry+8, 32)
	}
	f.heap()
	f.interpreter()
	return f
}

// cutLast splits the name of a field at its last "::".
func cutLast(name string) (typ, field string, ok bool) {
	i := strings.LastIndex(name, "::")
	return name[:i], name[i+2:], i >= 0
}

// static gives a field an address.
func (f *fake) static(name string, addr uint64) {
	for i, w := range f.wanted {
		if w == name {
			f.put(uint64(tableAt+stride*(i+1)+24), addr)
		}
	}
}

// heap makes the list of heaps, and the one.
func (f *fake) heap() {
	list, data, h := uint64(heapAt), uint64(heapAt+0x100), uint64(heapAt+0x200)
	f.put(staticsAt, list)
	f.put32(list+f.fields["GrowableArrayBase::_len"], 1)
	f.put(list+f.fields["GrowableArray<int>::_data"], data)
	f.put(data, h)
	// The fields of these structures must not overlap: they are given new offsets.
	f.offset("CodeHeap::_memory", 0)
	f.offset("CodeHeap::_segmap", 0x40)
	f.offset("CodeHeap::_log2_segment_size", 0x80)
	f.offset("VirtualSpace::_low", 0)
	f.offset("VirtualSpace::_high", 8)
	f.offset("HeapBlock::_header", 0)
	f.offset("HeapBlock::Header::_used", 8)
	bounds := f.wanted[len(want):]
	for i, name := range append([]string{"CodeBlob::_name", "CodeBlob::_frame_size", "CodeBlob::_frame_complete_offset"}, bounds...) {
		f.offset(name, uint64(8*i))
	}
	f.put(h, codeAt)
	f.put(h+8, codeEnd)
	f.put(h+0x40, segmapAt)
	f.put32(h+0x80, 7)
	for i := range uint64(codeEnd-codeAt) >> 7 {
		f.mem[segmapAt+i] = freeSegment
	}
}

func (f *fake) offset(name string, off uint64) {
	f.fields[name] = off
	for i, w := range f.wanted {
		if w == name {
			f.put(uint64(tableAt+stride*(i+1)+16), off)
		}
	}
}

// blob adds a blob with that code and gives the address of the code.
func (f *fake) blob(name string, frame, complete int32, code []byte) uint64 {
	at := f.next
	begin := at + 32 + 64
	size := (uint64(len(code)) + 96 + 127) &^ 127
	for i := range size >> 7 {
		f.mem[segmapAt+(at-codeAt)>>7+i] = byte(min(i, 200)) // HotSpot's map leads back in steps, too
		if i > 200 {
			f.mem[segmapAt+(at-codeAt)>>7+i] = 200
		}
	}
	f.next += size
	f.put(at, size>>7)
	f.mem[at+8] = 1
	from, to := begin, begin+uint64(len(code))
	done := uint64(uint32(complete))
	if f.newer {
		from, to, done = from-(at+32), to-(at+32), uint64(uint16(complete))|0x7777<<16
	}
	for i, v := range []uint64{f.text(name), uint64(uint32(frame)), done, from, to} {
		f.put(at+32+8*uint64(i), v)
	}
	copy(f.mem[begin:], code)
	return begin
}

// interpreter makes the blob of the interpreter: a piece with which methods begin, and a bytecode.
func (f *fake) interpreter() {
	f.put(staticsAt+8, stubsAt)
	f.offset("StubQueue::_stub_buffer", 0)
	f.offset("StubQueue::_buffer_limit", 8)
	f.offset("InterpreterCodelet::_size", 0)
	f.offset("InterpreterCodelet::_description", 8)
	var b []byte
	for _, c := range []struct {
		text string
		code []byte
	}{{entryText + " (kind = zerolocals)", entryCode}, {"iadd", returnCode}} {
		head := make([]byte, 32)
		binary.LittleEndian.PutUint32(head, uint32(32+len(c.code)))
		binary.LittleEndian.PutUint64(head[8:], f.text(c.text))
		b = append(append(b, head...), c.code...)
	}
	begin := f.blob("Interpreter", 0, 0, b)
	f.put(stubsAt, begin)
	f.put32(stubsAt+8, int32(len(b)))
}

var (
	// mov rdx, [rbx+8]; pop rax; lea r14, [rsp+rcx*8-8]; push 0; push rax; push rbp; mov rbp, rsp; push r13; nop; nop
	entryCode = []byte{0x48, 0x8b, 0x53, 8, 0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x6a, 0, 0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x90, 0x90}
	// xor ecx, ecx; nop; nop; nop; nop; mov rbx, [rbp-8]; leave; pop rsi; mov rsp, rbx; jmp rsi
	returnCode = []byte{0x33, 0xc9, 0x90, 0x90, 0x90, 0x90, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6}
	// push rbp; sub rsp, 32; nop; add rsp, 32; pop rbp; cmp rsp, [r15+0x338]; ja +9; ret
	methodCode = []byte{0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x38, 3, 0, 0, 0x0f, 0x87, 9, 0, 0, 0, 0xc3}
	// nop; add rsp, 8; jmp; call; mov rbx, rax; mov rax, r14; pop rdx; jmp rbx; nop; nop
	forwardCode = append(append([]byte{0x90}, forwardsAligned...), 1, 2, 3, 4, 0x48, 0x8b, 0xd8, 0x49, 0x8b, 0xc6, 0x5a, 0xff, 0xe3, 0x90, 0x90)
	// push rax; push r11; call; pop r11; pop rax; nop
	pushCode = []byte{0x50, 0x41, 0x53, opCall, 1, 2, 3, 4, 0x41, 0x5b, 0x58, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}
	// how it begins; nop; how it ends; jmp
	exceptionCode = append(append(append(bytes.Clone(exceptionBegins), 0x90), exceptionEnds...), 0xff, 0xe0)
	// the adapter into compiled code, jmp r11; nop (a check); pop rax; mov r13, rsp; sub rsp, 16; push rax; nop
	adapterCode = append(append(bytes.Clone(toCompiled), jumpR11...), 0x90, 0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 16, 0x50, 0x90)
)

func (f *fake) open(t testing.TB) *VM {
	t.Helper()
	v, ok := New(Options{Arch: frames.X86_64, Symbol: f.symbol, Read: f.read, ReadCode: f.read})
	if !ok {
		t.Fatal("the tables are not understood")
	}
	return v
}

// machine is a thread with a stack, for a walk of one step.
const (
	stackAt = 0x7000000
	callers = 0x20060 // a return address in code that was made at run time
)

// step applies the rule at pc to registers and memory, and gives what it finds.
func step(t *testing.T, v *VM, q frames.Query, regs map[uint8]uint64, stack map[uint64]uint64) (frames.Regs, bool) {
	t.Helper()
	m := &frames.Module{Start: codeAt, End: codeEnd, Generated: true, NoFP: true, Sources: []frames.RuleSource{v}, Calls: anyCall{}}
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
	if q.Caller { // an inner frame with its return address below sp
		binary.LittleEndian.PutUint64(b[regs[frames.X86RSP]-8-stackAt:], q.PC)
		r.PC = 0x150
		r.Set(frames.X86RSP, regs[frames.X86RSP]-8)
	}
	mem := &frames.Snapshot{Stack: frames.Region{Addr: stackAt, Bytes: b}, StackEnd: stackAt + 0x1000}
	var w frames.Walker
	w.Init(s, &r, mem)
	n := 2
	if q.Caller {
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
func (anyCall) FuncStart(frames.Addr) (frames.Addr, bool)  { return 0, false }

type innerSource struct{}

func (innerSource) Rule(frames.Query) (frames.Rule, *frames.Row, bool) {
	return frames.Rule{CFAReg: frames.X86RSP, CFAOff: 8, Method: frames.MethodCFI}, nil, true
}

func TestEveryPlaceOfCodeLeadsToItsCaller(t *testing.T) {
	t.Run("addresses", func(t *testing.T) { everyPlace(t, newFake()) })
	t.Run("distances", func(t *testing.T) { everyPlace(t, makeFake(true)) })
}

func everyPlace(t *testing.T, f *fake) {
	f.blob("nmethod", 6, 5, bytes.Repeat([]byte{0x90}, 0x200)) // holds the address of callers
	method := f.blob("nmethod", 6, 5, methodCode)
	stub := f.blob("vtable chunks", 0, 0, []byte{0x90, 0x90})
	adapter := f.blob("I2C/C2I adapters", 0, 0, adapterCode)
	exception := f.blob("ExceptionBlob", 2, -1, exceptionCode)
	deopt := f.blob("DeoptimizationBlob", 80, 0, []byte{0x90, 0x90, 0x90, 0x90})
	stubs := f.blob("unwind_exception Runtime1 stub", -1, 0, forwardCode)
	pushes := f.blob("nmethod", 6, 0, pushCode)
	v := f.open(t)
	entry := uint64(codeAt + 96 + 32)
	template := entry + uint64(len(entryCode)) + 32
	const sp, fp = stackAt + 0x100, stackAt + 0x180
	at := func(words ...uint64) map[uint64]uint64 { // pairs of address and word
		out := map[uint64]uint64{}
		for i := 0; i < len(words); i += 2 {
			out[words[i]] = words[i+1]
		}
		return out
	}
	const r13, rbx = stackAt + 0x200, stackAt + 0x280
	interpreterFrame := at(fp, 0x77, fp+8, callers, fp-8, r13)
	for _, c := range []struct {
		name   string
		pc     uint64
		caller bool
		stack  map[uint64]uint64
		sp, fp uint64 // the caller's; sp 0: no answer
	}{
		{"a method's call", method + 6, true, at(sp+40, callers, sp+32, 0x77), sp + 48, 0x77},
		{"in a method", method + 5, false, at(sp+40, callers, sp+32, 0x77), sp + 48, 0x77},
		{"before the frame goes", method + 6, false, at(sp+40, callers, sp+32, 0x77), sp + 48, 0x77},
		{"before the pop", method + 10, false, at(sp+8, callers, sp, 0x77), sp + 16, 0x77},
		{"at the poll", method + 11, false, at(sp, callers), sp + 8, fp},
		{"at the jump", method + 18, false, at(sp, callers), sp + 8, fp},
		{"at the return", method + 24, false, at(sp, callers), sp + 8, fp},
		{"where a method begins", method + 1, false, at(sp, callers), 0, 0},
		{"a virtual call's stub", stub + 1, false, at(sp, callers), sp + 8, fp},
		{"the interpreter's call", template + 3, true, interpreterFrame, r13, 0x77},
		{"in a bytecode", template + 4, false, interpreterFrame, r13, 0x77},
		{"behind leave", template + 11, false, at(sp, callers), rbx, fp},
		{"behind leave and pop", template + 12, false, nil, rbx, fp},
		{"at the jump back", template + 15, false, nil, sp, fp},
		{"a frame that is being replaced", deopt + 2, true, at(fp+8, callers, fp, 0x77), fp + 16, 0x77},
		{"an exception handed on, aligned", stubs + 1, true, at(sp+8, callers), sp + 16, fp},
		{"an exception handed on", stubs + 15, true, at(sp, callers), sp + 8, fp},
		{"another stub's call", stubs + 24, true, at(sp, callers), 0, 0},
		{"a call with two words pushed", pushes + 8, true, at(sp+56, callers, sp+48, 0x77), sp + 64, 0x77},
		{"before that call", pushes + 3, false, at(sp+56, callers, sp+48, 0x77), sp + 64, 0x77},
		{"before the second push", pushes + 1, false, at(sp+48, callers, sp+40, 0x77), sp + 56, 0x77},
		{"before the first push", pushes, false, at(sp+40, callers, sp+32, 0x77), sp + 48, 0x77},
		{"before it is", deopt + 2, false, at(fp+8, callers, fp, 0x77), 0, 0},
		{"an exception", exception, false, nil, sp, fp},
		{"an exception's address pushed", exception + 1, false, at(sp, callers), sp + 8, fp},
		{"an exception, room for rbp", exception + 5, false, at(sp+8, callers), sp + 16, fp},
		{"an exception's handler is looked for", exception + 9, true, at(sp+8, callers, sp, 0x77), sp + 16, 0x77},
		{"an exception's handler is found", exception + 14, false, at(sp+8, callers, sp, 0x77), sp + 16, 0x77},
		{"an exception's frame is gone", exception + 18, false, at(sp, callers), sp + 8, fp},
		{"an exception's address is back", exception + 19, false, nil, sp, fp},
		{"where an interpreted method begins", entry, false, at(sp, callers), r13, fp},
		{"with the return address in rax", entry + 10, false, nil, r13, fp},
		{"before it is pushed", entry + 12, false, nil, r13, fp},
		{"when it is pushed", entry + 13, false, at(sp, callers), r13, fp},
		{"with rbp pushed", entry + 14, false, at(sp+8, callers, sp, fp), r13, fp},
		{"with rbp set", entry + 17, false, at(fp, 0x77, fp+8, callers), r13, 0x77},
		{"with the frame made", entry + 19, false, interpreterFrame, r13, 0x77},
		{"into compiled code", adapter + 4, false, at(sp, callers), sp + 8, fp},
		{"on the way", adapter + 12, false, at(sp, callers), sp + 8, fp},
		{"into the interpreter", adapter + 16, false, at(sp, callers), sp + 8, fp},
		{"with the address taken", adapter + 17, false, nil, sp, fp},
		{"with sp kept", adapter + 20, false, nil, r13, fp},
		{"with it put back", adapter + 25, false, at(sp, callers), r13, fp},
	} {
		t.Run(c.name, func(t *testing.T) {
			regs := map[uint8]uint64{frames.X86RSP: sp, frames.X86RBP: fp, frames.X86RAX: callers, frames.X86R13: r13, regR11: sp, frames.X86RBX: rbx, frames.X86RSI: callers, frames.X86RDX: callers}
			got, ok := step(t, v, frames.Query{PC: c.pc, Caller: c.caller}, regs, c.stack)
			if c.sp == 0 {
				if ok {
					t.Errorf("%#x: a caller at %#x, where none is known", c.pc, got.PC)
				}
				return
			}
			if gotFP, _ := got.Get(frames.X86RBP); !ok || got.PC != callers || got.SP() != c.sp || gotFP != c.fp {
				t.Errorf("%#x: %v pc %#x sp %#x fp %#x, want %#x, %#x, %#x", c.pc, ok, got.PC, got.SP(), gotFP, uint64(callers), c.sp, c.fp)
			}
		})
	}
}

func TestBlobIsFoundFromAllItsSegments(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 6, 5, make([]byte, 40000))
	v := f.open(t)
	for _, pc := range []uint64{begin, begin + 127, begin + 20000, begin + 39999} {
		if lo, hi, ok := v.FuncRange(pc); !ok || lo != begin || hi != begin+40000 {
			t.Errorf("%#x: %#x to %#x, %v", pc, lo, hi, ok)
		}
	}
	for _, pc := range []uint64{begin - 1, begin + 40000, codeEnd - 1, codeEnd, 0} {
		if _, _, ok := v.FuncRange(pc); ok {
			t.Errorf("%#x is in a method", pc)
		}
	}
}

func TestChangedCodeIsNoticed(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 6, 5, methodCode)
	v := f.open(t)
	if v.Rule(frames.Query{PC: begin + 6, Caller: true}); v.Changed() {
		t.Error("changed, and nothing was")
	}
	f.put32(begin-64+8, 12)
	if !v.Changed() {
		t.Error("a frame of another size was not noticed")
	}
	r, _, _ := v.Rule(frames.Query{PC: begin + 6, Caller: true})
	if r.CFAOff != 96 {
		t.Errorf("the rule is still that of before: %+v", r)
	}
	f.mem[begin-96+8] = 0
	if !v.Changed() {
		t.Error("code that is gone was not noticed")
	}
}

func TestMachinesThatDoNotDescribeThemselvesAreLeftAlone(t *testing.T) {
	f := newFake()
	f.put(f.symbols["gHotSpotVMStructs"], 0)
	if _, ok := New(Options{Arch: frames.X86_64, Symbol: f.symbol, Read: f.read, ReadCode: f.read}); ok {
		t.Error("without a table")
	}
	f = newFake()
	f.put(tableAt+stride*3, f.text("Renamed"))
	if _, ok := New(Options{Arch: frames.X86_64, Symbol: f.symbol, Read: f.read, ReadCode: f.read}); ok {
		t.Error("without a field")
	}
	if _, ok := New(Options{Arch: frames.AArch64, Symbol: newFake().symbol, Read: f.read, ReadCode: f.read}); ok {
		t.Error("on arm64")
	}
}

func FuzzHostileMachine(f *testing.F) {
	f.Add(uint32(tableAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(codeAt+200))
	f.Add(uint32(segmapAt), []byte{250, 0, 255}, uint64(codeAt+500))
	f.Add(uint32(stubsAt+8), []byte{255, 255, 255, 255}, uint64(codeAt+0x280))
	f.Add(uint32(heapAt+0x200), []byte{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255}, uint64(1<<40))
	f.Fuzz(func(_ *testing.T, at uint32, b []byte, pc uint64) {
		m := newFake()
		m.blob("nmethod", 6, 5, methodCode)
		m.blob("I2C/C2I adapters", 0, 0, adapterCode)
		m.interpreter()
		if uint64(at) < uint64(len(m.mem)) {
			copy(m.mem[at:], b)
		}
		v, ok := New(Options{Arch: frames.X86_64, Symbol: m.symbol, Read: m.read, ReadCode: m.read})
		if !ok {
			return
		}
		for _, q := range []frames.Query{{PC: pc}, {PC: pc, Caller: true}, {PC: codeAt + pc%0x800}, {PC: codeAt + pc%0x800, Caller: true, SPOnly: true}} {
			v.Rule(q)
			v.FuncRange(q.PC)
		}
		entry, bytecode := interpreterAt(m)
		v.Rule(frames.Query{PC: entry})
		v.Rule(frames.Query{PC: bytecode})
		v.Changed()
	})
}
