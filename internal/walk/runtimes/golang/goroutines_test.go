// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// Unstripped programs' symbols are the oracle.
func TestCodeNamesTheListOfGoroutines(t *testing.T) {
	for _, v := range append(variants(), older(t)...) {
		tab, f := open(t, build(t, v.src, v.env, v.args...))
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for variable, functions := range map[string][]string{"runtime.allgs": {"runtime.allgadd"},
			"runtime.waitReasonStrings": namesWaitReasons} {
			var named []uint64
			for _, function := range functions {
				named = append(named, tab.referencedAddresses(function)...)
			}
			found := false
			for _, s := range symbols {
				found = found || s.Name == variable && slices.Contains(named, s.Value)
			}
			if !found {
				t.Errorf("%s: %v name %#x, not %s", v.name, functions, named, variable)
			}
		}
	}
}

// In a program of garble -tiny the reason of the wait shows which goroutines are the runtime's own.
func TestTheRuntimesGoroutinesAreKnownWithoutNames(t *testing.T) {
	const unnamed, named, unknown = 1, 2, 3
	a := &allgs{reasons: waitReasons{texts: map[uint8]string{1: "GC sweep wait", 2: "chan receive"}}}
	a.startFuncs.byStart = map[uint64]startFunc{unnamed: {ok: true}, named: {name: "main.f", ok: true}, unknown: {}}
	for _, c := range []struct {
		start  uint64
		status uint32
		reason uint8
		want   bool
	}{
		{unnamed, goroutineWaiting, 1, true}, {unnamed, goroutineWaiting, 2, false}, {unnamed, goroutineRunning, 1, false},
		{named, goroutineWaiting, 1, false}, {unknown, goroutineWaiting, 1, false},
	} {
		if got := a.isSystem(&Goroutine{Start: c.start, Status: c.status, WaitReason: c.reason}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestTooManyGoroutinesAreNoUnknownLayout(t *testing.T) {
	memory := hostileMemory()
	for at := 0x108; at <= 0x110; at += 8 { // length and capacity of the list
		binary.LittleEndian.PutUint64(memory[at:], maxGoroutines+1)
	}
	r := hostileRuntime(t, memory)
	if _, err := r.AllTasks(); !errors.Is(err, errTooMany) {
		t.Errorf("AllTasks: %v, want %v", err, errTooMany)
	}
	if _, err := r.Places(); !errors.Is(err, errTooMany) {
		t.Errorf("Places: %v, want %v", err, errTooMany)
	}
}

func TestTooManyGoroutinesOfAStrippedProgramAreNamed(t *testing.T) {
	memory := waitingMemory()
	for at := 0x108; at <= 0x110; at += 8 { // length and capacity of the list
		binary.LittleEndian.PutUint64(memory[at:], maxGoroutines+1)
	}
	r := hostileRuntime(t, memory)
	r.allgs.program.host = &memoryHost{memory: memory}
	r.allgs.startFuncs.names = map[string]uint64{"runtime.main": 0x1000}
	copy(r.allgs.program.table.img.Pclntab[72:], goroutineTable(false, false)[72:]) // the function names the list
	for range 2 {
		if _, err := r.goroutines(); !errors.Is(err, errTooMany) {
			t.Errorf("%v, want %v", err, errTooMany)
		}
	}
}

func TestGoroutinesThatChangeAreNoUnknownLayout(t *testing.T) {
	memory := waitingMemory()
	r := hostileRuntime(t, memory)
	if _, err := r.goroutines(); err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint64(memory[0x300+0x38:], 0x1500) // sched.sp below the stack
	if _, err := r.goroutines(); !errors.Is(err, errChanging) {
		t.Errorf("a changing goroutine: %v, want %v", err, errChanging)
	}
	r.allgs.program.host = &memoryHost{memory: memory[:0x300], symbol: true}
	if _, err := r.goroutines(); !errors.Is(err, errUnreadable) {
		t.Errorf("a g that a core does not have: %v, want %v", err, errUnreadable)
	}
	r.allgs.program.host = &memoryHost{memory: memory[:0x108], symbol: true}
	if _, err := r.goroutines(); !errors.Is(err, errUnreadable) {
		t.Errorf("memory that is gone: %v, want %v", err, errUnreadable)
	}
}

// As a release whose systemstack has other instructions.
func TestUnknownOffsetsOfGAreSaid(t *testing.T) {
	im, _ := image(t, build(t, source, noCgo))
	known, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	systemstack, code := known.asmCode("runtime.systemstack")
	read := im.Read
	im.Read = func(addr uint64, b []byte) int {
		n := read(addr, b)
		for i := range b[:n] {
			if at := addr + uint64(i) - systemstack; at < uint64(len(code)) {
				b[i] = 0x90 // nop
			}
		}
		return n
	}
	tab, err := New(im)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Detect(&tableHost{memoryHost{}, tab, []*frames.Module{{Name: "program"}}})
	if found == nil || err != nil {
		t.Fatalf("found %v, %v; want a runtime that says what is missing", found, err)
	}
	r := found.(managed.Scheduler)
	if _, err := r.AllTasks(); !errors.Is(err, errGoroutines) {
		t.Errorf("error %v, want %v", err, errGoroutines)
	}
	if _, err := r.Places(); !errors.Is(err, errGoroutines) {
		t.Errorf("observation: error %v, want %v", err, errGoroutines)
	}
	if r.TaskOffsets() != nil {
		t.Errorf("offsets %+v", r.TaskOffsets())
	}
	if l := r.Labels(&frames.Regs{Arch: frames.X86_64}, words{}); l != nil {
		t.Errorf("labels %v", l)
	}
}

type tableHost struct {
	memoryHost
	table *Table
	mods  []*frames.Module
}

func (h *tableHost) Modules() []*frames.Module { return h.mods }

func (h *tableHost) Table(*frames.Module) managed.FileTable { return h.table }

func (h *tableHost) OwnSymbols(*frames.Module, ...string) []managed.Symbol { return nil }

// memoryHost has memory at 0x1000, and counts reads.
type memoryHost struct {
	managed.Host
	memory []byte
	symbol bool
	reads  int
}

func (h *memoryHost) Arch() frames.Arch { return frames.X86_64 }

func (h *memoryHost) Symbol(_ *frames.Module, name string) (addr, size uint64, ok bool) {
	return 0x1100, 24, h.symbol && name == "runtime.allgs"
}

func (h *memoryHost) Read(at uint64, b []byte) int {
	h.reads++
	if off := at - 0x1000; off < uint64(len(h.memory)) {
		return copy(b, h.memory[off:])
	}
	return 0
}

func FuzzGoroutines(f *testing.F) {
	for _, arm := range []bool{false, true} {
		f.Add(hostileMemory(), arm, false)
		f.Add(hostileMemory(), arm, true)
	}
	f.Fuzz(func(t *testing.T, memory []byte, arm, symbol bool) {
		im := Image{Arch: frames.X86_64, Pclntab: goroutineTable(arm, symbol), PclntabAddr: 0x5000, TextStart: 0x1000,
			Read: func(addr uint64, b []byte) int {
				if off := addr - 0x1000; off < uint64(len(memory)) {
					return copy(b, memory[off:])
				}
				return 0
			}}
		if arm {
			im.Arch = frames.ARM64
		}
		tab, err := New(im)
		if err != nil {
			t.Fatal(err)
		}
		h := &memoryHost{memory: memory, symbol: symbol}
		r := newRuntime(program{table: tab, host: h},
			GOffsets{GM: 0x30, GStackHi: 8, SchedSP: 0x38, SchedPC: 0x40, SchedBP: 0x68})
		if all, err := r.goroutines(); err != nil && len(all) != 0 {
			t.Errorf("%d goroutines, and %v", len(all), err)
		}
		list := min(len(memory)/8, maxGoroutines)
		most := goroutineTries*((3+2*maxFirst)*maxReferenced+2+2*maxFirst+(goroutineTries+1)*list) + 2*maxReferenced +
			2*maxWaitReasons
		if h.reads > most {
			t.Errorf("%d reads, at most %d", h.reads, most)
		}
		h.reads, most = 0, most+list*(3+2*maxLabels+maxLabels*(1+2*bucketSlots))
		tasks, _ := r.AllTasks()
		for i := range tasks {
			r.Reread(&tasks[i])
			most += 1 + 2*maxReferenced + 2
		}
		if h.reads > most {
			t.Errorf("%d reads of tasks, at most %d", h.reads, most)
		}
	})
}

// If symbol, it names the list, else the first goroutine.
func goroutineTable(arm, symbol bool) []byte {
	b := excerpt(magic120, map[bool]byte{false: 1, true: 4}[arm])
	copy(b[72:], map[bool]string{false: "\x00runtime.allgadd\x00", true: "\x00runtime.main\x00"}[symbol])
	return b
}

// The memory has code that names a list of one goroutine, and that list.
func hostileMemory() []byte {
	b := make([]byte, 1024)
	copy(b, []byte{0x48, 0x8b, 0x05, 0xf9, 0, 0, 0}) // mov rax, [rip+0xf9]: 0x1100
	for i, w := range []uint64{0x1200, 1, 1} {
		binary.LittleEndian.PutUint64(b[0x100+8*i:], w)
	}
	binary.LittleEndian.PutUint64(b[0x200:], 0x1300)
	g := b[0x300:]
	for at, w := range map[int]uint64{0: 0x8000, 8: 0x9000, 0x38: 0x8800, 0x90: 4, 0x98: 1, 0xb0: 1, 0xf8: 0x1000} {
		binary.LittleEndian.PutUint64(g[at:], w)
	}
	return b
}
