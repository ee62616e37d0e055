// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

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
	stride    = 40
)

// fake has the tables of JDK 17 at other offsets.
type fake struct {
	mem     []byte
	symbols map[string]uint64
	strings uint64
	fields  map[string]uint64
	next    uint64
	wanted  []string
	release release
	header  uint64
}

func (f *fake) put(addr, v uint64) { binary.LittleEndian.PutUint64(f.mem[addr:], v) }

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

func newFake() *fake { return makeFake(releases["JDK 16 to 22"]) }

type release struct {
	bounds, heaps int
	short         bool
	names         []string
}

var releases = map[string]release{
	"JDK 8": {bounds: 1, heaps: 2}, "JDK 9 to 15": {heaps: 1}, "JDK 16 to 22": {}, "JDK 23 on": {bounds: 1, short: true},
}

func makeFake(r release) *fake {
	f := &fake{
		mem: make([]byte, memEnd), symbols: map[string]uint64{}, strings: stringsAt, fields: map[string]uint64{},
		next: codeAt, release: r, header: 64,
	}
	f.wanted = slices.Concat(wantFields, wantHeaps[r.heaps], wantBounds[r.bounds], r.names)
	at := uint64(symbolsAt)
	for name, v := range map[string]uint64{
		"StructEntryTypeNameOffset": 0, "StructEntryFieldNameOffset": 8, "StructEntryOffsetOffset": 16,
		"StructEntryAddressOffset":    24,
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
		if r.short && name == "CodeBlob::_frame_complete_offset" {
			f.put(entry+32, f.text("int16_t"))
		}
	}
	f.static(wantHeaps[r.heaps][0], staticsAt)
	f.static("AbstractInterpreter::_code", staticsAt+8)
	for i, name := range slices.Concat(wantSizes, nameSizes()) {
		entry := uint64(tableAt + 0x3000 + 16*i)
		f.put(entry, f.text(name))
		f.put(entry+8, 32)
	}
	f.heap()
	f.interpreter()
	return f
}

func cutLast(name string) (typ, field string, ok bool) {
	i := strings.LastIndex(name, "::")
	return name[:i], name[i+2:], i >= 0
}

func (f *fake) static(name string, addr uint64) {
	for i, w := range f.wanted {
		if w == name {
			f.put(uint64(tableAt+stride*(i+1)+24), addr)
		}
	}
}

func (f *fake) heap() {
	list, data, h := uint64(heapAt), uint64(heapAt+0x100), uint64(heapAt+0x200)
	if f.put(staticsAt, list); f.release.heaps == 2 {
		f.put(staticsAt, h)
	} else {
		names := wantHeaps[f.release.heaps]
		f.put32(list+f.fields[names[1]], 1)
		f.put(list+f.fields[names[2]], data)
		f.put(data, h)
	}
	f.offset("CodeHeap::_memory", 0)
	f.offset("CodeHeap::_segmap", 0x40)
	f.offset("CodeHeap::_log2_segment_size", 0x80)
	f.offset("VirtualSpace::_low", 0)
	f.offset("VirtualSpace::_high", 8)
	f.offset("HeapBlock::_header", 0)
	f.offset("HeapBlock::Header::_used", 8)
	bounds := wantBounds[f.release.bounds]
	names := []string{"CodeBlob::_name", "CodeBlob::_frame_size", "CodeBlob::_frame_complete_offset"}
	for i, name := range append(names, bounds...) {
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

func (f *fake) blob(name string, frame, complete int32, code []byte) uint64 {
	at := f.next
	begin := at + 32 + f.header
	size := (uint64(len(code)) + 32 + f.header + 127) &^ 127
	for i := range size >> 7 {
		f.mem[segmapAt+(at-codeAt)>>7+i] = byte(min(i, 200))
		if i > 200 {
			f.mem[segmapAt+(at-codeAt)>>7+i] = 200
		}
	}
	f.next += size
	f.put(at, size>>7)
	f.mem[at+8] = 1
	from, to := begin, begin+uint64(len(code))
	done := uint64(uint32(complete))
	if f.release.bounds == 1 {
		from, to = from-(at+32), to-(at+32)
	}
	if f.release.short {
		done = uint64(uint16(complete)) | 0x7777<<16
	}
	for i, v := range []uint64{f.text(name), uint64(uint32(frame)), done, from, to} {
		f.put(at+32+8*uint64(i), v)
	}
	copy(f.mem[begin:], code)
	return begin
}

var interpreterPieces = []struct {
	text string
	code []byte
}{
	{entryText + " (kind = zerolocals)", entryCode}, {"iadd", returnCode},
	{entryText + " (kind = java_util_zip_CRC32_updateBytes)", knownCode},
	{entryText + " (kind = java_util_zip_CRC32_updateByteBuffer)", slices.Concat(knownCode, entryCode)},
	{"throw exception entry points", throwCode},
}

func (f *fake) interpreter() {
	f.put(staticsAt+8, stubsAt)
	f.offset("StubQueue::_stub_buffer", 0)
	f.offset("StubQueue::_buffer_limit", 8)
	f.offset("InterpreterCodelet::_size", 0)
	f.offset("InterpreterCodelet::_description", 8)
	var b []byte
	for _, c := range interpreterPieces {
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
	entryCode = []byte{
		0x48, 0x8b, 0x53, 8, 0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8, 0x6a, 0, 0x50, 0x55, 0x48, 0x8b, 0xec, 0x41,
		0x55, 0x90, 0x90,
	}
	// xor ecx, ecx; nop; nop; nop; nop; mov rbx, [rbp-8]; leave; pop rsi; mov rsp, rbx; jmp rsi
	returnCode = []byte{
		0x33, 0xc9, 0x90, 0x90, 0x90, 0x90, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6,
	}
	// push rbp; sub rsp, 32; nop; add rsp, 32; pop rbp; cmp rsp, [r15+0x338]; ja +9; ret
	methodCode = []byte{
		0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x38, 3, 0, 0, 0x0f,
		0x87, 9, 0, 0, 0, 0xc3,
	}
	// add rsp, 32; pop rbp; ja; ret. Second entry: mov [rsp-…], eax, twice; push rbp; sub rsp, 32
	loopCode = []byte{
		0x48, 0x83, 0xc4, 0x20, 0x5d, 0x90, 0x90, 0x90, 0xc3, 0x89, 0x84, 0x24, 0, 0xd0, 0xfe, 0xff, 0x89, 0x84, 0x24, 0,
		0xc0, 0xfe, 0xff, 0x55, 0x48, 0x81, 0xec, 0x20, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	}
	// ret. Second entry: sub rsp, 40; mov [rsp+32], rbp; nops
	bareCode = slices.Concat([]byte{opRet}, []byte{0x48, 0x81, 0xec, 0x28, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x20},
		bytes.Repeat([]byte{0x90}, aroundBytes))
	// ret; mov r10, poll; mov [r15+0x318], r10; jmp; mov r10, here; push r10; jmp; call +0; sub qword [rsp], 5; jmp
	behindCode = slices.Concat([]byte{opRet, 0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0x4d, 0x89, 0x97, 0x18, 3, 0, 0, opJump,
		0, 0x10, 0, 0}, []byte{0x49, 0xba, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0x52, opJump, 0, 0x10, 0, 0},
		callsNext, []byte{0, 0x10, 0, 0}, bytes.Repeat([]byte{0xf4}, aroundBytes))
	// leave; cmp qword [r15+8], 0 (JDK 8); jne +1; ret; jmp
	nativeCode = []byte{
		0xc9, 0x49, 0x81, 0x7f, 8, 0, 0, 0, 0, 0x0f, 0x85, 1, 0, 0, 0, 0xc3, 0xe9, 0x40, 0, 0, 0, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	}
	// add rsp, 16; pop rbp; pop rdx; jmp r10
	rethrowCode = []byte{
		0x48, 0x83, 0xc4, 0x10, 0x5d, 0x5a, 0x41, 0xff, 0xe2, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
		0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	}
	// nop; add rsp, 8; jmp; call; mov rbx, rax; mov rax, r14; pop rdx; jmp rbx; nop; nop
	forwardCode = append(append([]byte{0x90}, forwardsAligned...),
		1, 2, 3, 4, 0x48, 0x8b, 0xd8, 0x49, 0x8b, 0xc6, 0x5a, 0xff, 0xe3, 0x90, 0x90)
	// push rax; push r11; call; pop r11; pop rax; nop; add rsp, 32; pop rbp; ret
	pushCode = []byte{
		0x50, 0x41, 0x53, opCall, 1, 2, 3, 4, 0x41, 0x5b, 0x58, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3,
	}
	// begin; nop; end; jmp
	exceptionCode = append(append(append(bytes.Clone(exceptionBegins), 0x90), exceptionEnds...), 0xff, 0xe0)
	// mov rax, [rsp]; mov r11, rsp; sub rsp, 32; and rsp, -16; push rax; mov rax, r11; jmp r11
	toCompiled = []byte{
		0x48, 0x8b, 0x04, 0x24, 0x4c, 0x8b, 0xdc, 0x48, 0x83, 0xec, 0x20, 0x48, 0x83, 0xe4, 0xf0, 0x50,
		0x49, 0x8b, 0xc3, 0x41, 0xff, 0xe3,
	}
	// mov r11, rsp; pop rax; sub rsp, 8; and rsp, -16; push rax; mov rax, r11; mov r11, [rbx+64]; jmp r11
	toCompiled21 = []byte{
		0x4c, 0x8b, 0xdc, 0x58, 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xe4, 0xf0, 0x50, 0x49, 0x8b, 0xc3, 0x4c,
		0x8b, 0x5b, 0x40, 0x41, 0xff, 0xe3,
	}
	// cmp ebx, [rax+8]; je +5; jmp elsewhere
	unverified = []byte{0x3b, 0x58, 8, 0x74, 5, 0xe9, 0, 0x10, 0, 0}
	// test rbx, rbx; je +21; sub rsp, 208; mov [rsp], rax; call; add rsp, 208
	barrierCode = []byte{
		0x48, 0x85, 0xdb, 0x74, 23, 0x48, 0x81, 0xec, 0xd0, 0, 0, 0, 0x48, 0x89, 0x04, 0x24, opCall, 0,
		0x10, 0, 0, 0x48, 0x81, 0xc4, 0xd0, 0, 0, 0,
	}
	// cmp qword [rbx+72], 0; je +20; mov r13, rsp; mov rax, [rsp]; and rsp, -16; pushf; call; popf; mov rsp, r13
	fixupCode = []byte{
		0x48, 0x83, 0x7b, 0x48, 0, 0x74, 21, 0x4c, 0x8b, 0xec, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x83, 0xe4,
		0xf0, 0x9c, opCall, 0, 0x10, 0, 0, 0x9d, 0x49, 0x8b, 0xe5,
	}
	// pop rax; mov r13, rsp; sub rsp, 16; mov [rsp], rax; jmp rcx
	toInterpreter = []byte{0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 16, 0x48, 0x89, 0x04, 0x24, 0xff, 0xe1}
	// lea r13, [rsp+8]; pop rax; sub rsp, 16; push rax; mov rax, [rsp+32]; jmp rcx
	toInterpreter21 = []byte{
		0x4c, 0x8d, 0x6c, 0x24, 8, 0x58, 0x48, 0x83, 0xec, 16, 0x50, 0x48, 0x8b, 0x44, 0x24, 32, 0xff, 0xe1,
	}
	adapterCode   = slices.Concat(toCompiled, unverified, fixupCode, toInterpreter)
	adapterCode21 = slices.Concat(toCompiled21, unverified, barrierCode, fixupCode, toInterpreter21)
	// add [rax], al; test spl, 15; je +14; sub rsp, 8; call; add rsp, 8; jmp +5; call; pop rdi; mov rsp, r13; jmp rdi
	knownCode = []byte{
		0, 0, 0x40, 0xf6, 0xc4, 15, 0x74, 15, 0x48, 0x83, 0xec, 8, opCall, 0, 0x10, 0, 0, 0x48, 0x83, 0xc4,
		8, 0xeb, 5, opCall, 0, 0x10, 0, 0, 0x5f, 0x49, 0x8b, 0xe5, 0xff, 0xe7,
	}
)

var throwCode = slices.Concat([]byte{
	0x48, 0x8b, 0x5d, 0xf8, opLeave, 0x5a, 0x48, 0x8b, 0xe3, // mov rbx, [rbp-8]; leave; pop rdx; mov rsp, rbx
	0x49, 0x8b, 0x87, 0xa0, 2, 0, 0, 0x50, 0x52, 0x48, 0x8b, 0xf2, // mov rax, [r15+…]; push rax; push rdx; mov rsi, rdx
	0x49, 0x8b, 0xff, 0xf7, 0xc4, 15, 0, 0, 0, 0x0f, 0x84, 18, 0, 0, 0, // mov rdi, r15; test esp, 15; je
	0x48, 0x83, 0xec, 8, opCall, 1, 2, 3, 4, 0x48, 0x83, 0xc4, 8, opJump, 5, 0, 0, 0, opCall, 1, 2, 3, 4,
	0x48, 0x8b, 0xd8, 0x5a, 0x58, 0xff, 0xe3, // mov rbx, rax; pop rdx; pop rax; jmp rbx
}, make([]byte, removalBytes))

func (f *fake) open(t testing.TB) *VM { return f.openWith(t, f.host(frames.X86_64)) }

func (f *fake) openAnalysed(t testing.TB) *VM {
	h := f.host(frames.X86_64)
	h.analysis = heuristics.New(heuristics.Options{Arch: h.arch, Code: codeOf{f}, JIT: true})
	return f.openWith(t, h)
}

func (f *fake) openWith(t testing.TB, h managed.Host) *VM {
	t.Helper()
	v, err := New(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (f *fake) host(arch frames.Arch) *fakeHost { return &fakeHost{fake: f, arch: arch} }

type readingHost struct {
	managed.Host
	read func(addr uint64, b []byte) int
}

func (h *readingHost) Read(addr uint64, b []byte) int { return h.read(addr, b) }

func (v *VM) readBy(read func(addr uint64, b []byte) int) {
	v.host = &readingHost{v.host, read}
	v.cached.process = v.host
}

type codeOf struct{ f *fake }

func (c codeOf) ReadCode(addr uint64, b []byte) int { return c.f.read(addr, b) }
