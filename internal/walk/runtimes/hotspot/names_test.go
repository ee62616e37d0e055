// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
)

// said returns a frame's functions, innermost first.
func said(n *javaFrames, f frames.Frame) string {
	f.Module = generated
	refs, replacesFrame := n.managedFrames(&f, nil)
	if len(refs) != 1 || !replacesFrame {
		return fmt.Sprint(len(refs), " refs")
	}
	fs, truth := n.symbolize(refs[0], nil, nil)
	if truth == managed.Freed {
		return "[freed]"
	}
	var out []string
	for _, f := range fs {
		s := fmt.Sprintf("%s(%s:%d) %s", f.Function, f.File, f.Line, f.Type)
		if f.Inlined {
			s += " inlined"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// cart inlines item at 40 and 60, not at 80.
func cart(f *named, r namedRelease) (code, total, item uint64) {
	c := f.newClass("com/example/Cart", "Cart.java")
	item = f.newMethod(c, 2, "item", 20, 0<<3|7, 5<<3|2) // bytecode 0: line 7, 5: line 9
	total = f.newMethod(c, 3, "total", 30, 0<<3|5, 10<<3|3)
	least := byte(0)
	if r.major >= firstExcludingZero {
		least = 1
	}
	scopes := append([]byte{0}, number5(least, 0, 2, 13)...) // 1: total at 12
	scopes = append(scopes, number5(least, 1, 1, 6)...)      // 4: item at 5, called from 1
	scopes = append(scopes, number5(least, 0, 2, 4)...)      // 7: total at 3
	code = f.newCompiled(r, 77, 4, scopes, []desc{{40, 4}, {60, 4}, {80, 7}}, item, total)
	return code, total, item
}

const (
	inItem  = "com.example.Cart.item(Cart.java:9) c2 inlined, com.example.Cart.total(Cart.java:8) c2"
	inTotal = "com.example.Cart.total(Cart.java:5) c2"
)

func TestCompiledCodeIsNamedByItsScopes(t *testing.T) {
	for name, r := range namedReleases {
		t.Run(name, func(t *testing.T) {
			f := newNamed(r)
			code, _, _ := cart(f, r)
			n := f.open(t).frameSource()
			begin(n, nil)
			for _, c := range []struct {
				off    uint64
				caller bool
				want   string
			}{
				{40, true, inItem}, {60, true, inItem}, {80, true, inTotal},
				{41, true, inItem}, // of a routine, between two places of the same calls
				{61, true, "com.example.Cart.total(Cart.java:5) c2"},
				{45, false, inItem},
				{59, false, inItem},
				{70, false, "com.example.Cart.total(Cart.java:5) c2"},
				{2, false, inTotal},
				{90, false, inTotal},
			} {
				if got := said(n, frames.Frame{PC: code + c.off, AfterCall: c.caller}); got != c.want {
					t.Errorf("%d, caller %v: %s, want %s (%v)", c.off, c.caller, got, c.want, n.err)
				}
			}
		})
	}
}

func TestStaticCallStubHasItsOwnName(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, _, _ := cart(f, r)
		copy(f.mem[code+120:], []byte{0x48, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, opJump, 0, 0x10, 0, 0})
		n := f.open(t).frameSource()
		begin(n, nil)
		for _, pc := range []uint64{code + 120, code + 130} {
			if got := said(n, frames.Frame{PC: pc}); got != "static_call_stub(:0) stub" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := said(n, frames.Frame{PC: code + 60, AfterCall: true}); got != inItem {
			t.Errorf("%s: its caller is %s", name, got)
		}
		copy(f.mem[code+120:], make([]byte, 15))
		f.put32(code-f.header+48, 78)
		n.forget()
		n.validity.copiedAt = procmem.Now()
		if got := said(n, frames.Frame{PC: code + 120}); got != inTotal {
			t.Errorf("%s: other code is %s", name, got)
		}
	}
}

func TestDeoptimizedFramesAreNamedByTheirOriginalPC(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, _, _ := cart(f, r)
		n := f.open(t).frameSource()
		begin(n, nil, 0, 0, code+60, 0)
		if got := said(n, frames.Frame{PC: code + 200, SP: namedStack, AfterCall: true}); got != inItem {
			t.Errorf("%s: %s", name, got)
		}
		if got := said(n, frames.Frame{PC: code + 200, SP: namedStack + 8, AfterCall: true}); got != inTotal {
			t.Errorf("%s: without the place: %s", name, got)
		}
	}
}

func TestInterpretedFramesAreNamedByMethodAndBytecode(t *testing.T) {
	for name, r := range namedReleases {
		t.Run(name, func(t *testing.T) {
			f := newNamed(r)
			_, total, _ := cart(f, r)
			n := f.open(t).frameSource()
			entry, bytecode := interpreterAt(f.fake)
			code := f.word(total+8) + 32
			fp := uint64(namedStack + 80)
			stack := make([]uint64, 12)
			less := 0
			if r.major < 9 {
				less = 1
			}
			stack[2+less], stack[4+less], stack[7] = code+12, 0xcac4e, total
			const at8, at0 = "com.example.Cart.total(Cart.java:8) interpreted", "com.example.Cart.total(Cart.java:5) interpreted"
			begin(n, map[uint8]uint64{frames.X86R13: code + 3, frames.X86RBX: total}, stack...)
			f.put(total+16, entry)
			for _, c := range []struct {
				f    frames.Frame
				want string
			}{
				{frames.Frame{PC: bytecode + 1, FP: fp, SP: namedStack, AfterCall: true}, at8},
				{frames.Frame{PC: bytecode + 1, FP: fp, SP: namedStack}, at0}, // by the register
				{frames.Frame{PC: entry + 2, FP: fp, SP: namedStack + 200}, at0},
				// The frame is removed.
				{frames.Frame{PC: bytecode + 10, FP: fp + 8, SP: namedStack}, "Interpreter (iadd)(:0) stub"},
				{frames.Frame{PC: bytecode + 1, FP: fp + 8, SP: namedStack, AfterCall: true}, "Interpreter (iadd)(:0) stub"},
			} {
				if got := said(n, c.f); got != c.want {
					t.Errorf("%+v: %s, want %s", c.f, got, c.want)
				}
			}
			stack[4+less]++
			begin(n, nil, stack...)
			if got := said(n, frames.Frame{PC: bytecode + 1, FP: fp, SP: namedStack, AfterCall: true}); got != "[freed]" {
				t.Errorf("a class with other constants: %s", got)
			}
		})
	}
}

func TestMethodsAtReusedAddressesAreOthers(t *testing.T) {
	r := namedReleases["JDK 17"]
	f := newNamed(r)
	code, total, _ := cart(f, r)
	n := f.open(t).frameSource()
	begin(n, nil)
	fr := frames.Frame{PC: code + 80, AfterCall: true, Module: generated}
	refs, _ := n.managedFrames(&fr, nil)
	f.put32(code-f.header+48, 78)
	n.validity.copiedAt = procmem.Now()
	after, _ := n.managedFrames(&fr, nil)
	if after[0] == refs[0] {
		t.Error("the same identity for another compilation")
	}
	if _, truth := n.symbolize(refs[0], nil, nil); truth != managed.Freed {
		t.Errorf("what was there is named after what is: %v", truth)
	}
	c := f.newClass("com/example/Other", "Other.java")
	other := f.newMethod(c, 2, "other", 30, 0<<3|5)
	was, _ := n.methods.methodAt(total)
	copy(f.mem[total:total+64], f.mem[other:other+64])
	n.validity.copiedAt = procmem.Now()
	if m, err := n.methods.methodAt(total); err != nil || m.cookie == was.cookie || m.name != "com.example.Other.other" {
		t.Errorf("another method at the same address: %+v", m)
	}
}

func TestTablesWithoutAFieldGiveNoNames(t *testing.T) {
	r := namedReleases["JDK 17"]
	f := newNamed(r)
	code, _, _ := cart(f, r)
	for i, name := range f.wanted {
		if name == "Symbol::_body" {
			f.put(uint64(tableAt+stride*(i+1)), f.text("Renamed"))
		}
	}
	n := f.open(t).frameSource()
	begin(n, nil)
	fr := frames.Frame{PC: code + 80, AfterCall: true, Module: generated}
	if refs, replacesFrame := n.managedFrames(&fr, nil); len(refs) != 0 || replacesFrame {
		t.Error("a frame is named")
	}
	if err := n.err; err == nil || !strings.Contains(err.Error(), "Symbol::_body") {
		t.Errorf("it is not said why: %v", err)
	}
}

func TestClassNamesAreInSourceForm(t *testing.T) {
	for class, want := range map[string]string{
		"com/example/Cart": "com.example.Cart", "Cart$Item": "Cart$Item", "a/B$$Lambda$14+0x00007f12ab": "a.B$$Lambda",
		"a/B$$Lambda+0x00007f12ab": "a.B$$Lambda", "a/B$$Lambda$1/1234": "a.B$$Lambda", "a/B$$Lambda$1/0x08": "a.B$$Lambda",
		"java/lang/invoke/LambdaForm$MH+0x01": "java.lang.invoke.LambdaForm$MH", "a/B$1": "a.B$1", "a/1": "a", "+": "+",
		"$Proxy1": "$Proxy1", "a/0x": "a.0x", "B$$Lambda": "B$$Lambda", "B$$LambdaX": "B$$LambdaX",
		"jdk/proxy2/$Proxy7": "jdk.proxy2.$Proxy7",
	} {
		if got := string(readable([]byte(class))); got != want {
			t.Errorf("%s: %s, want %s", class, got, want)
		}
	}
}

func TestNumbersAreReadAsTheyAreWritten(t *testing.T) {
	write := func(least byte, v uint32) (out []byte) {
		limit := uint32(256 - highCodes - int(least))
		for i := 0; ; i++ {
			if v < limit || i == maxNumberBytes-1 {
				return append(out, byte(v)+least)
			}
			v -= limit
			out = append(out, byte(limit+v%highCodes)+least)
			v /= highCodes
		}
	}
	for _, least := range []byte{0, 1} {
		for _, v := range []uint32{0, 1, 190, 191, 192, 193, 255, 256, 12345, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
			s := unsigned5Reader{b: write(least, v), excluded: least}
			if got := s.number(); got != v || s.failed || len(s.b) != 0 {
				t.Errorf("least %d: %d, want %d (%v, %d bytes left)", least, got, v, s.failed, len(s.b))
			}
		}
	}
	for _, bad := range [][]byte{{}, {0}, {200, 0}} {
		s := unsigned5Reader{b: bad, excluded: 1}
		if s.number(); !s.failed {
			t.Errorf("%v is a number", bad)
		}
	}
}

// Of several entries the first at a bytecode index, the last at a nearer one (Method::line_number_from_bci).
func TestLineIsThatOfTheVirtualMachine(t *testing.T) {
	table := []byte{0<<3 | 5, 10<<3 | 1, 0<<3 | 1, 10<<3 | 1, 0}
	for bci, want := range map[int32]int{0: 5, 9: 5, 10: 6, 11: 7, 19: 7, 20: 8, 25: 8} {
		s := unsigned5Reader{b: table}
		if got := s.line(bci); got != want || len(s.b) != 0 {
			t.Errorf("bytecode index %d: line %d, %d bytes left; want line %d", bci, got, len(s.b), want)
		}
	}
}

func FuzzHostileNames(f *testing.F) {
	f.Add(uint8(0), uint32(classesAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(40), uint64(namedStack))
	f.Add(uint8(1), uint32(codeAt+40), []byte{255, 255, 255, 255, 255, 255, 255, 255}, uint64(60), uint64(namedStack+80))
	f.Add(uint8(2), uint32(classesAt+64), []byte{0, 0, 0, 0, 255}, uint64(45), uint64(1<<63))
	f.Add(uint8(8), uint32(classesAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint64(40), uint64(namedStack+80))
	f.Add(uint8(9), uint32(segmapAt), []byte{250, 0, 255}, uint64(60), uint64(namedStack+24))
	f.Add(uint8(2), uint32(tableAt+40), []byte{255, 255, 255, 255, 255, 255, 255, 255}, uint64(45), uint64(8))
	f.Fuzz(func(t *testing.T, which uint8, at uint32, b []byte, off, fp uint64) {
		r := namedReleases[[]string{"JDK 8", "JDK 17", "JDK 25"}[which%3]]
		m := newNamed(r)
		code, total, item := cart(m, r)
		routines, dispatch := stubsOf(m)
		if uint64(at) < uint64(len(m.mem)) {
			copy(m.mem[at:], b)
		}
		v, err := New(m.host(frames.X86_64), nil)
		if err != nil {
			return
		}
		n := v.frameSource()
		if calls := 0; which&8 != 0 {
			counting(v, &calls)
		}
		begin(n, map[uint8]uint64{frames.X86RBX: item, frames.X86R13: off}, 1, 2, total, item, 5, 6, total, total, 9, 10,
			code+60, code+80, off, namedStack+80)
		entry, bytecode := interpreterAt(m.fake)
		for _, pc := range []uint64{code + off%512, entry + off%32, bytecode + off%32, routines + off%64, dispatch + off%64,
			off} {
			for _, caller := range []bool{false, true} {
				said(n, frames.Frame{PC: pc, SP: namedStack, FP: fp, AfterCall: caller})
			}
		}
		n.symbolize(managed.Ref{Object: off, Position: fp, Kind: uint8(off % 5)}, nil, nil)
	})
}

func TestMethodsInPossiblyReusedMemoryAreFreed(t *testing.T) {
	const collected, loaded = 1, 2
	for _, c := range []struct {
		what    string
		happens int
		before  bool
		ran     bool
		want    string
	}{
		{"nothing happened", 0, false, true, inItem},
		{"a collection", collected, false, true, inItem},
		{"a new class loader", loaded, false, true, inItem},
		{"both", collected | loaded, false, true, "[freed]"},
		{"both, and it was met before", collected | loaded, true, true, inItem},
		{"both, and the thread has slept since", collected | loaded, false, false, inItem},
	} {
		r := namedReleases["JDK 17"]
		f := newNamed(r)
		code, _, _ := cart(f, r)
		n := f.open(t).frameSource()
		n.vm.heapOf(code)
		n.readFirstMoment(code)
		fr := frames.Frame{PC: code + 40, AfterCall: true}
		if c.before {
			begin(n, nil).At = procmem.Now()
			n.validity.copiedAt = procmem.Now() - 1
			said(n, fr)
		}
		copied := procmem.Now()
		if c.happens&collected != 0 {
			f.put32(collectedAt+8, 7)
		}
		if c.happens&loaded != 0 {
			f.put(f.address("ClassLoaderDataGraph::_head"), 0x9999)
		}
		n.begin(&managed.Sample{Regs: &frames.Regs{}, Mem: &frames.Snapshot{}, At: copied, Live: asleep(!c.ran)})
		if got := said(n, fr); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestMethodsThatAreUnloadedBeforeTheirNamesAreReadAreFreed(t *testing.T) {
	for name, r := range namedReleases {
		for _, before := range []bool{false, true} {
			f := newNamed(r)
			code, _, _ := cart(f, r)
			n := f.open(t).frameSource()
			n.vm.heapOf(code)
			n.readFirstMoment(code)
			fr := frames.Frame{PC: code + 40, AfterCall: true, Module: generated}
			if before {
				begin(n, nil).At = procmem.Now()
				n.validity.copiedAt = procmem.Now() - 1
				said(n, fr)
			}
			n.begin(&managed.Sample{Regs: &frames.Regs{}, Mem: &frames.Snapshot{}, At: procmem.Now(), Live: asleep(false)})
			refs, _ := n.managedFrames(&fr, nil)
			n.vm.cached.drop() // as if the names were on other pages
			f.put32(collectedAt+8, 7)
			f.put(f.address("ClassLoaderDataGraph::_head"), 0x9999)
			_, truth := n.symbolize(refs[0], nil, nil)
			if freed := truth == managed.Freed; freed == before {
				t.Errorf("%s, known before %v: freed %v", name, before, freed)
			}
		}
	}
}

func TestUnloadedInterpretedMethodIsFreed(t *testing.T) {
	const piece = "Interpreter (iadd)(:0) stub"
	for name, r := range namedReleases {
		for _, c := range []struct {
			what      string
			collected bool
			method    uint64
			caller    bool
			want      string
		}{
			{"nothing happened", false, 1 << 40, true, piece},
			{"its class has gone", true, 1 << 40, true, "[freed]"},
			{"other things are there", true, stringsAt, true, "[freed]"},
			{"there was none", true, 0, true, piece},
			{"the frame may be another's", true, 1 << 40, false, piece},
		} {
			f := newNamed(r)
			code, _, _ := cart(f, r)
			_, bytecode := interpreterAt(f.fake)
			n := f.open(t).frameSource()
			n.vm.heapOf(code)
			n.readFirstMoment(code)
			stack := make([]uint64, 12)
			stack[7] = c.method
			s := begin(n, nil, stack...)
			s.At, s.Live = procmem.Now(), asleep(false)
			if c.collected {
				f.put32(collectedAt+8, 7)
				f.put(f.address("ClassLoaderDataGraph::_head"), 0x9999)
			}
			n.begin(s)
			fr := frames.Frame{PC: bytecode + 1, FP: namedStack + 80, SP: namedStack, AfterCall: c.caller}
			if got := said(n, fr); got != c.want {
				t.Errorf("%s, %s: %s, want %s", name, c.what, got, c.want)
			}
		}
	}
}

type asleep bool

func (a asleep) Read(uint64, []byte) int { return 0 }
func (a asleep) Unchanged() bool         { return bool(a) }

func (f *named) address(name string) uint64 {
	return f.word(uint64(tableAt + stride*(slices.Index(f.wanted, name)+1) + 24))
}

func TestVersionsAreInReleaseForm(t *testing.T) {
	for _, c := range []struct {
		release, jdk, want string
		major              byte
	}{
		{"17.0.15+6-Debian-1deb12u1", "JDK 17", "HotSpot 17.0.15", 17}, {"25.412-b08", "JDK 8", "HotSpot 8u412", 8},
		{"25.0.3+9-LTS", "JDK 25", "HotSpot 25.0.3", 25}, {"what's this", "JDK 17", "HotSpot", 17},
	} {
		f := newNamed(namedReleases[c.jdk])
		f.put(f.address("Abstract_VM_Version::_s_vm_release"), f.text(c.release))
		if got := f.open(t).Version(); got != c.want {
			t.Errorf("%s: %s, want %s", c.release, got, c.want)
		}
	}
}

func TestDebuggingInformationThatCannotBeReadNamesNothing(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, _, _ := cart(f, r)
		at := frames.Frame{PC: code + 60, AfterCall: true}
		known := f.open(t).frameSource()
		begin(known, nil)
		if got := said(known, at); got != inItem {
			t.Fatalf("%s: %s", name, got)
		}
		c := known.compiled.byStart[code]
		for what, hidden := range map[string]uint64{"places": c.pcs.low, "scopes": c.scopes.low, "methods": c.metadata.low} {
			v := f.open(t)
			hides := true
			v.readBy(func(addr uint64, b []byte) int {
				n := f.read(addr, b)
				if hides && addr < hidden+16 && addr+uint64(n) > hidden {
					n = int(max(hidden, addr) - addr)
				}
				return n
			})
			n := v.frameSource()
			begin(n, nil)
			if got := said(n, at); got != "[freed]" {
				t.Errorf("%s, without %s: %s", name, what, got)
			}
			hides = false
			begin(n, nil)
			n.vm.cached.drop()
			if got := said(n, at); got != inItem {
				t.Errorf("%s, with %s again: %s", name, what, got)
			}
		}
	}
}
