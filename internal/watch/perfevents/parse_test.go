// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
)

func words(v ...uint64) (b []byte) {
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

func record(typ uint32, misc uint16, body []byte) []byte {
	return append(words(uint64(typ)|uint64(misc)<<32|uint64(len(body)+headerLen)<<48), body...)
}

// sampleOf returns the body of a sample of thread 8 of process 7 at 1,000 ns on CPU 3, with a period of 5,000 ns.
func sampleOf(kernel []uint64, stack []byte, asked int) []byte {
	b := words(7|8<<32, 1000, 3, 5000, uint64(len(kernel)))
	b = append(b, words(kernel...)...)
	b = append(b, words(abi64)...)
	for i := range numRegs {
		b = append(b, words(uint64(100+i))...)
	}
	b = append(b, words(uint64(asked))...)
	b = append(b, stack...)
	b = append(b, make([]byte, asked-len(stack))...)
	return append(b, words(uint64(len(stack)))...)
}

func TestSampleIsRead(t *testing.T) {
	var r Record
	body := sampleOf([]uint64{^uint64(127), 0xffff1, 0xffff2}, []byte("12345678"), 32)
	if !parse(typeSample, 2, body, &r) || r.Kind != Sampled || !r.Usable() {
		t.Fatalf("sample is refused: %+v", r)
	}
	if r.PID != 7 || r.TID != 8 || r.Time != 1000 || r.CPU != 3 || r.Period != 5000 || string(r.Stack) != "12345678" ||
		r.Asked != 32 {
		t.Errorf("sample %+v; want thread 8 of 7 at 1000 on CPU 3, period 5000, 8 of 32 bytes of stack", r)
	}
	if r.Kernel() != 2 || r.KernelFrame(0) != 0xffff1 || r.KernelFrame(1) != 0xffff2 {
		t.Errorf("%d frames of the kernel, want 0xffff1 and 0xffff2", r.Kernel())
	}
	if r := numRegs; r != x86Regs && r != arm64Regs {
		t.Errorf("%d registers, want %d or %d", r, x86Regs, arm64Regs)
	}
}

func TestUnwantedSamplesHaveTheirThreadOnly(t *testing.T) {
	for pid, wanted := range map[int]bool{7: true, 9: false} {
		r := Record{want: func(p int) bool { return p == pid }}
		body := sampleOf(nil, []byte("12345678"), 32)
		if !parse(typeSample, 2, body, &r) || r.Kind != Sampled || r.TID != 8 || r.Usable() != wanted {
			t.Errorf("wanted %v: sample %+v, want thread 8", wanted, r)
		}
		if parse(typeSample, 2, body[:48], &r) == wanted {
			t.Errorf("wanted %v: half of a sample is accepted: %v", wanted, !wanted)
		}
	}
}

func TestRegistersHaveTheirDWARFNumbers(t *testing.T) {
	b := words(0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 21, 22, 23, 24, 25, 26, 27)
	var r frames.Regs
	setX86(&r, b)
	want := map[uint8]uint64{
		frames.X86RAX: 0, frames.X86RBX: 1, frames.X86RCX: 2, frames.X86RDX: 3, frames.X86RSI: 4, frames.X86RDI: 5,
		frames.X86RBP: 6, frames.X86RSP: 7, frames.X86R8: 20, frames.X86R12: 24, frames.X86R15: 27,
	}
	for reg, v := range want {
		if got, ok := r.Get(reg); !ok || got != v {
			t.Errorf("register %d: %d, %v; want %d", reg, got, ok, v)
		}
	}
	if r.PC != 8 || r.SP() != 7 {
		t.Errorf("pc %d, sp %d; want 8 and 7", r.PC, r.SP())
	}
	b = nil
	for i := range uint64(arm64Regs) {
		b = append(b, words(i)...)
	}
	setARM64(&r, b)
	if lr, ok := r.Get(frames.ARM64LR); !ok || lr != 30 || r.SP() != 31 || r.PC != 32 {
		t.Errorf("lr %d, sp %d, pc %d; want 30, 31, 32", lr, r.SP(), r.PC)
	}
}

func TestSampleWithoutUserRegistersHasNone(t *testing.T) {
	var r Record
	body := append(words(7|7<<32, 1, 0, 5, 1, 0xffff1, abiNone), words(0)...)
	if !parse(typeSample, 1, body, &r) || r.Usable() || r.Kernel() != 1 || r.Stack != nil {
		t.Errorf("sample %+v; want one frame of the kernel, no registers, no stack", r)
	}
}

func TestRecordsOfTasksAndMappingsAreRead(t *testing.T) {
	id := words(7|8<<32, 1000, 3)
	for _, c := range []struct {
		typ  uint32
		misc uint16
		body []byte
		want Record
	}{
		{typeLost, 0, words(5, 12), Record{Kind: lost, PID: 7, TID: 8, Time: 1000, CPU: 3, Lost: 12}},
		{typeLostSamples, 0, words(13), Record{Kind: lost, PID: 7, TID: 8, Time: 1000, CPU: 3, Lost: 13}},
		{typeFork, 0, words(7|6<<32, 9|5<<32, 999), Record{Kind: Forked, PID: 7, PPID: 6, TID: 9, Time: 999,
			CPU: 3}},
		{typeExit, 0, words(7|6<<32, 9|5<<32, 999), Record{Kind: Exited, PID: 7, PPID: 6, TID: 9, Time: 999,
			CPU: 3}},
		{typeThrottle, 0, words(1, 2, 3), Record{Kind: throttled, PID: 7, TID: 8, Time: 1000, CPU: 3}},
		{typeComm, miscCommExec, append(words(7|9<<32), "ls\x00\x00\x00\x00\x00\x00"...),
			Record{Kind: CommSet, PID: 7, TID: 9, Time: 1000, CPU: 3, Name: []byte("ls"), Exec: true}},
		{typeMmap2, 2, append(words(7|9<<32, 0x1000, 0x2000, 0x3000, 8|1<<32, 77, 1, 5), "/bin/ls\x00"...),
			Record{Kind: Mapped, PID: 7, TID: 9, Time: 1000, CPU: 3, Name: []byte("/bin/ls"), Addr: 0x1000, Len: 0x2000,
				Off: 0x3000, Dev: 8<<32 | 1, Inode: 77}},
		{typeMmap2, miscBuildID, append(words(7|9<<32, 0x1000, 0x2000, 0x3000, 20, 77, 1, 5), "/bin/ls\x00"...),
			Record{Kind: Mapped, PID: 7, TID: 9, Time: 1000, CPU: 3, Name: []byte("/bin/ls"), Addr: 0x1000, Len: 0x2000,
				Off: 0x3000}},
		{99, 0, nil, Record{PID: 7, TID: 8, Time: 1000, CPU: 3}},
	} {
		var r Record
		if !parse(c.typ, c.misc, append(slices.Clone(c.body), id...), &r) {
			t.Errorf("record of type %d is refused", c.typ)
			continue
		}
		if string(r.Name) != string(c.want.Name) || r.Exec != c.want.Exec || r.Addr != c.want.Addr || r.Len != c.want.Len ||
			r.Off != c.want.Off || r.Dev != c.want.Dev || r.Inode != c.want.Inode {
			t.Errorf("type %d: %+v, want %+v", c.typ, r, c.want)
		}
		if r.Kind != c.want.Kind || r.PID != c.want.PID || r.TID != c.want.TID || r.Time != c.want.Time ||
			r.Lost != c.want.Lost || r.PPID != c.want.PPID {
			t.Errorf("type %d: %+v, want %+v", c.typ, r, c.want)
		}
	}
}

func TestInvalidRecordsAreRefused(t *testing.T) {
	good := sampleOf(nil, []byte("12345678"), 16)
	for n := range good {
		var r Record
		if parse(typeSample, 2, good[:n], &r) {
			t.Errorf("a sample cut after %d of %d bytes is accepted", n, len(good))
		}
	}
	var r Record
	for name, body := range map[string][]byte{
		"more frames than bytes":         words(7, 1, 0, 5, 1<<61+1, abi64),
		"a stack beyond the record":      append(words(7, 1, 0, 5, 0, abiNone), words(1<<63, 0)...),
		"more bytes written than copied": append(words(7, 1, 0, 5, 0, abiNone), words(8, 1, 9)...),
		"lost, cut":                      words(1),
	} {
		if parse(typeSample, 2, body, &r) {
			t.Errorf("%s: accepted", name)
		}
	}
	for _, typ := range []uint32{typeComm, typeMmap2, typeFork} {
		if parse(typ, 0, words(1, 2, 3), &r) {
			t.Errorf("a cut record of type %d is accepted", typ)
		}
	}
}

func ringWith(size int, from uint64, records ...[]byte) (data []byte, head uint64) {
	data, head = make([]byte, size), from
	for _, r := range records {
		for _, b := range r {
			data[head%uint64(size)] = b
			head++
		}
	}
	return data, head
}

func TestRecordsThatWrapAreWhole(t *testing.T) {
	stack := bytes.Repeat([]byte("stack…"), 16)
	stack = stack[:len(stack)&^7]
	one := record(typeSample, 2, sampleOf(nil, stack, len(stack)))
	wrap := make([]byte, largest)
	for from := uint64(0); from < 2048; from += 8 {
		data, head := ringWith(1024, from, one, one)
		n := 0
		var r Record
		end, ok := walkRing(data, wrap, head, from, allTypes, &r, func(r *Record) {
			if n++; !bytes.Equal(r.Stack, stack) || r.TID != 8 {
				t.Fatalf("from %d: %+v, want thread 8 with its stack", from, r)
			}
		})
		if !ok || n != 2 || end != head {
			t.Fatalf("from %d: %d records, end %d; want 2 and %d", from, n, end, head)
		}
	}
}

func TestReadingEndsAtARecordOfInvalidSize(t *testing.T) {
	wrap := make([]byte, largest)
	var r Record
	none := func(*Record) { t.Error("a record is returned") }
	data, _ := ringWith(1024, 0)
	for name, c := range map[string][2]uint64{"size 0": {64, 0}, "beyond the ring": {4096, 0}, "odd": {13, 0},
		"backwards": {0, 64}} {
		if end, ok := walkRing(data, wrap, c[0], c[1], allTypes, &r, none); ok || end != c[0] {
			t.Errorf("size %s: %v, continues at %d; want an error at %d", name, ok, end, c[0])
		}
	}
}

func TestReadingARingAllocatesNothing(t *testing.T) {
	data, head := ringWith(4096, 3072, record(typeSample, 2, sampleOf([]uint64{1, 2}, make([]byte, 512), 1024)),
		record(typeLost, 0, words(1, 2, 3, 4, 5)))
	wrap := make([]byte, largest)
	var r Record
	n := 0
	if got := testing.AllocsPerRun(100, func() {
		walkRing(data, wrap, head, 3072, allTypes, &r,
			func(*Record) { n++ })
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if n == 0 {
		t.Error("no record was read")
	}
}

func FuzzRing(f *testing.F) {
	f.Add(record(typeSample, 2, sampleOf([]uint64{1}, []byte("12345678"), 16)), uint64(0))
	f.Add(record(typeLost, 0, words(1, 2, 3, 4, 5)), uint64(1016))
	f.Add(record(typeFork, 0, words(1, 2, 3, 4, 5, 6)), uint64(8))
	f.Add(record(typeComm, miscCommExec, words(1, 2, 3, 4, 5)), uint64(8))
	f.Add(record(typeMmap2, 0, words(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)), uint64(960))
	wrap := make([]byte, largest)
	f.Fuzz(func(t *testing.T, b []byte, from uint64) {
		from &^= 7
		data, head := ringWith(1024, from, b)
		var r Record
		last := uint64(0)
		walkRing(data, wrap, head, from, allTypes, &r, func(r *Record) {
			for i := range r.Kernel() {
				last ^= r.KernelFrame(i)
			}
			for _, c := range append(r.Stack[:len(r.Stack):len(r.Stack)], r.Name...) {
				last ^= uint64(c)
			}
			if len(r.Stack) > r.Asked || r.Usable() && !r.HasRegs {
				t.Fatalf("more stack than copied, or usable without registers: %+v", r)
			}
		})
	})
}

func TestKernelFramesEndAtTheNextMarker(t *testing.T) {
	kernel, user := ^uint64(127), ^uint64(511)
	for name, c := range map[string]struct{ all, kernel []uint64 }{
		"both":            {[]uint64{kernel, 1, 2, user, 3, 4, 5}, []uint64{1, 2}},
		"kernel only":     {[]uint64{kernel, 1, 2}, []uint64{1, 2}},
		"user only":       {[]uint64{user, 3}, nil},
		"without markers": {[]uint64{1, 2}, []uint64{1, 2}},
		"unknown marker":  {[]uint64{kernel, 1, ^uint64(2047), 7, user, 3}, []uint64{1}},
		"nothing":         {},
	} {
		if k := kernelFrames(words(c.all...)); !bytes.Equal(k, words(c.kernel...)) {
			t.Errorf("%s: kernel %x, want %x", name, k, words(c.kernel...))
		}
	}
}
